// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/doctor/meeting.hpp"
#include "launcher/doctor/probe_schedule.hpp"

namespace lockstep::launcher::doctor {

// Bytes per second over each link of the ring that an all-reduce of all ranks of `communicator`
// makes. Collective; the same on every rank.
double all_reduce_rate(comm::Communicator& communicator);

// The pairs that this rank is the first of; rank 0's also says the ring of all. Collective, round
// by round. Throws kind peer where a rank does not come.
struct Rates {
    std::vector<PairRate> pairs;
    double ring = 0;
};
Rates measure_rates(Meeting& meeting, const Plan& plan, std::chrono::milliseconds longest);

}  // namespace lockstep::launcher::doctor

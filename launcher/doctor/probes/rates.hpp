// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/doctor/probes/meeting.hpp"
#include "launcher/doctor/probes/probe_schedule.hpp"

namespace lockstep::launcher::doctor {

// Returns the bytes per second over each link of the ring that an all-reduce of all ranks of
// `communicator` forms. Collective; the result is the same on every rank.
double all_reduce_rate(comm::Communicator& communicator);

// Holds the rates of the pairs whose first rank is this one, and of the ring of all ranks.
// measure_rates() is collective in every round and throws kind peer when a rank does not come.
struct Rates {
    std::vector<PairRate> pairs;
    double ring = 0;
};
Rates measure_rates(Meeting& meeting, const Plan& plan, std::chrono::milliseconds longest);

}  // namespace lockstep::launcher::doctor

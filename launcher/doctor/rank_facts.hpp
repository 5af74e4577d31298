// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/doctor/examination.hpp"
#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Collects the facts that this rank knows before it meets the others.
RankFacts rank_facts(const comm::RankInfo& rank_info, const Request& request);

}  // namespace lockstep::launcher::doctor

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/doctor/facts.hpp"

namespace lockstep::launcher::doctor {

// The one that the rank would compute on: the only one visible to it, else that of its local rank;
// null where there is none.
const Gpu* gpu_of_rank(const RankFacts& rank);

}  // namespace lockstep::launcher::doctor

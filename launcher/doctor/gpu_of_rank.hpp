// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/doctor/probes/facts.hpp"

namespace lockstep::launcher::doctor {

// Returns the GPU that the rank would compute on: the only visible one, otherwise the one with the
// number of its local rank. Returns null when there is none.
const Gpu* gpu_of_rank(const RankFacts& rank);

}  // namespace lockstep::launcher::doctor

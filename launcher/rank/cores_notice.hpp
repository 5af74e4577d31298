// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/host/taken_cores.hpp"
#include "launcher/rank/compute_device.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

// Returns what tells once that other processes take this rank's cores. Only the first rank of each
// host tells, and none that computes on a GPU.
TakenCoresNotice cores_notice(const ComputeDevice& device, const comm::RankInfo& rank_info,
                              TakenCoresNotice::Say say);

// Writes the line to standard error, as a warning.
void warn_of_taken_cores(const std::string& line);

}  // namespace lockstep::launcher

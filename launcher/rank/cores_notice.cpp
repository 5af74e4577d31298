// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/cores_notice.hpp"

#include <iostream>
#include <utility>

namespace lockstep::launcher {

TakenCoresNotice cores_notice(const ComputeDevice& device, const comm::RankInfo& rank_info,
                              TakenCoresNotice::Say say) {
    if (device.gpu || rank_info.local_rank != 0)
        return {device.threads, std::move(say), [] { return std::optional<CoreTimes>(); }};
    return {device.threads, std::move(say)};
}

void warn_of_taken_cores(const std::string& line) {
    std::cerr << "warning: " + line + "\n" << std::flush;
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

// Returns one line that says for which ranks this one waits, and where.
std::string waiting_line(const comm::RankInfo& rank_info);

// Prints that line to `out` once if the object lives for `patience`. Only the first rank of each
// host does so, and not a rank that is alone.
class WaitNotice {
public:
    explicit WaitNotice(const comm::RankInfo& rank_info,
                        std::chrono::milliseconds patience = std::chrono::seconds(15),
                        std::ostream& out = std::cerr);

private:
    std::jthread thread_;
};

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/generate/reply_bytes.hpp"
#include "launcher/memory/memory_limits.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Watches that replies that are made together have room in a CPU's memory beside the weights.
class ReplyRoom {
public:
    // `size_option` is the one that says how many they are.
    ReplyRoom(const RunConfig& config, std::string size_option);

    // Throws a config error if so many replies have for certain no room, and warns once on standard
    // error if they may have none.
    void require(std::int64_t prompts, const PromptBytes& bytes);

private:
    const std::int64_t weights_bytes_;
    const std::string size_option_;
    const std::vector<MemoryLimit> limits_ = memory_limits();
    bool has_warned_ = false;
};

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs/reply_room.hpp"

#include <iostream>
#include <utility>

#include "launcher/memory/weights_memory.hpp"

namespace lockstep::launcher {

ReplyRoom::ReplyRoom(const RunConfig& config, std::string size_option)
    : weights_bytes_(bytes_of_weights(config)), size_option_(std::move(size_option)) {}

void ReplyRoom::require(std::int64_t prompts, const PromptBytes& bytes) {
    const std::string why = require_room_for_prompts(
        weights_bytes_, prompts, {bytes.certain, bytes.at_most}, limits_, size_option_);
    if (!why.empty() && !std::exchange(has_warned_, true)) std::cerr << why + "\n";
}

}  // namespace lockstep::launcher

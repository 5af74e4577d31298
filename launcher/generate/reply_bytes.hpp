// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/decoding/generation.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// What prompts take beside the weights: keys and values of their tokens, and the scores of one.
struct PromptBytes {
    std::int64_t certain = 0;  // without the replies, which may be short
    std::int64_t at_most = 0;  // with the longest replies
};

// Returns what these contexts take of a CPU's memory when they are answered together. Of each at
// most `longest` tokens are read, unless it is 0 or less.
PromptBytes reply_bytes(const model::ModelConfig& model, train::Precision precision,
                        const model::GenerationOptions& options, std::int64_t longest,
                        const std::vector<std::vector<std::int32_t>>& contexts);

}  // namespace lockstep::launcher

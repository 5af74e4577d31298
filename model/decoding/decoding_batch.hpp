// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/batch/batch.hpp"

namespace lockstep::model {

// The functions make a decoder's input with filler tokens, so that few shapes occur: the first run
// of a product at a new shape takes longer than a small product. Up to 8 tokens get no filler; more
// tokens get at most a quarter.

// Takes the last kept[i] tokens of sequence i, which has at least that many.
train::RaggedTokens ragged_ends(const std::vector<std::vector<std::int32_t>>& sequences,
                                const std::vector<std::int64_t>& kept);

// Makes sequences of one token each.
train::RaggedTokens single_tokens(const std::vector<std::int32_t>& tokens);

}  // namespace lockstep::model

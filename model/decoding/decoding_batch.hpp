// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/batch/batch.hpp"

namespace lockstep::model {

// What a decoder reads, with filler so that few shapes occur: a product's first run at a new shape
// takes longer than a small product. Up to 8 tokens get none, beyond them at most a quarter.

// The last kept[i] tokens of sequence i, which has as many.
train::RaggedTokens ragged_ends(const std::vector<std::vector<std::int32_t>>& sequences,
                                const std::vector<std::int64_t>& kept);

// Sequences of one token each.
train::RaggedTokens single_tokens(const std::vector<std::int32_t>& tokens);

}  // namespace lockstep::model

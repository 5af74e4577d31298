// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::model {

// Forbids every token that would complete, after `tokens`, an n-gram that occurs in `seen`, by
// setting it to minus infinity in log_probs, [vocabulary]. With seen == tokens no n-gram occurs
// twice in a reply.
void block_ngrams(int n, std::span<const std::int32_t> tokens, std::span<const std::int32_t> seen,
                  std::span<float> log_probs);

}  // namespace lockstep::model

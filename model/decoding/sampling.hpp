// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace lockstep::model {

// The log-probability of a token that cannot follow.
constexpr float impossible = -std::numeric_limits<float>::infinity();

// Turns logits into log-probabilities at that temperature, in place. The token `never`, NaNs and
// infinities get probability 0. Throws a numeric error if no token has another one.
void normalise(std::span<float> logits, double temperature, std::int32_t never);

struct Choice {
    std::int32_t token = 0;
    double log_prob = 0;
};

// Draws among the k most likely tokens, in proportion to their probabilities. log_prob refers to
// the whole distribution (as ParlAI scores topk). `uniform` is in [0, 1). A token that is less
// likely than `min_p` times the likeliest is not drawn, here and below.
Choice sample_topk(std::span<const float> log_probs, int k, double min_p, double uniform);

// Draws from the smallest set of most likely tokens whose probability is at least p, then from
// those of it that min_p leaves. log_prob refers to what is left (as ParlAI scores nucleus).
Choice sample_nucleus(std::span<const float> log_probs, double p, double min_p, double uniform);

// Returns a uniform number in [0, 1) that depends only on the seed, the row, the sample and the
// token's position in the reply.
double sampling_number(std::uint64_t seed, std::uint32_t row, std::uint32_t sample,
                       std::uint32_t position);

}  // namespace lockstep::model

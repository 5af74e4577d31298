// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::model {

// In place: logits become log-probabilities at that temperature; `never` gets none,
// nor does NaN.
void normalise(std::span<float> logits, double temperature, std::int32_t never);

struct Choice {
    std::int32_t token = 0;
    double log_prob = 0;
};

// Draws among the k most likely tokens, in proportion to their probabilities; log_prob is that of
// the whole distribution (as ParlAI's topk scores). `uniform` is in [0, 1).
Choice sample_topk(std::span<const float> log_probs, int k, double uniform);

// Draws from the smallest set of most likely tokens whose probability is at least p; log_prob is
// that within the set (as ParlAI's nucleus scores).
Choice sample_nucleus(std::span<const float> log_probs, double p, double uniform);

// Uniform in [0, 1): the number of this token of this sample of this row.
double sampling_number(std::uint64_t seed, std::uint32_t row, std::uint32_t sample,
                       std::uint32_t token);

}  // namespace lockstep::model

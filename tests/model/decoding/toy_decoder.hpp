// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/decoding/generation.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::tests {

using model::GenerationOptions;
using model::Hypothesis;
using model::IncrementalDecoder;
using model::Inference;

using Tokens = std::vector<std::int32_t>;

inline constexpr std::int32_t start_token = 1, end_token = 2;
inline constexpr int vocabulary = 5;  // 0, 3 and 4 are words

// Scores depend on the last two tokens and on the first token of the context: enough to reveal
// wrong reordering and mixed-up contexts.
class ToyDecoder final : public IncrementalDecoder {
public:
    explicit ToyDecoder(std::uint64_t seed) : seed_(seed) {}

    std::vector<int> start(const std::vector<Tokens>& contexts, int slots_per_context,
                           int most) override {
        seen_.clear();
        std::vector<int> steps;
        for (const Tokens& context : contexts) {
            steps.push_back(std::min(most, context.front() == 4 ? limit_of_4 : limit));
            for (int i = 0; i < slots_per_context; ++i) seen_.push_back({context.front(), 0});
        }
        return steps;
    }
    void step(const Tokens& slots, const Tokens& tokens, std::vector<float>& logits) override {
        logits.clear();
        for (std::size_t i = 0; i < slots.size(); ++i) {
            Tokens& seen = seen_.at(slots[i]);
            seen.push_back(tokens[i]);
            const auto scores = scores_after(seen);
            logits.insert(logits.end(), scores.begin(), scores.end());
        }
    }
    void reorder(const Tokens& from) override {
        const auto before = seen_;
        for (std::size_t i = 0; i < from.size(); ++i) seen_[i] = before.at(from[i]);
    }
    std::int64_t vocabulary() const override { return tests::vocabulary; }
    int host_threads(std::int64_t) const override { return threads; }
    model::Stacks stacks() const override { return reads; }
    int threads = 3;
    model::Stacks reads = model::Stacks::encoder_and_decoder;

    // Returns logits, which are not normalised. The START token is likely.
    std::vector<float> scores_after(const Tokens& seen) const {
        const std::size_t n = seen.size();
        const std::int32_t state = (seen[0] * 10 + seen[n - 2]) * 10 + seen[n - 1];
        PhiloxStream random(mix(seed_, state));
        std::vector<float> x(tests::vocabulary);
        for (float& v : x) v = static_cast<float>(4 * random.uniform());
        x[start_token] += 2;
        return x;
    }

    int limit = 1000, limit_of_4 = 1000;

private:
    std::uint64_t seed_;
    std::vector<Tokens> seen_;
};

inline GenerationOptions with(Inference inference, int beam_size) {
    GenerationOptions o;
    o.inference = inference;
    o.beam_size = beam_size;
    o.max_length = 12;
    return o;
}

inline std::vector<Hypothesis> run(ToyDecoder& decoder, const GenerationOptions& options,
                                   const std::vector<Tokens>& contexts = {{3}, {4}, {0}},
                                   const std::vector<std::uint32_t>& rows = {10, 11, 12}) {
    return generate(decoder, contexts, rows, options, {start_token, {end_token}});
}

}  // namespace lockstep::tests

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/decoding/decoder.hpp"

namespace lockstep::model {

enum class Inference { greedy, beam, topk, nucleus };

// ParlAI's options and defaults. Sizes below 1 switch n-gram blocking off.
struct GenerationOptions {
    Inference inference = Inference::greedy;
    int beam_size = 1;  // of topk and nucleus: independent samples, the best is returned
    int beam_min_length = 1;
    int beam_block_ngram = -1;
    int beam_context_block_ngram = -1;
    bool beam_block_full_context = true;  // of what was cut off the context, too
    double beam_length_penalty = 0.65;
    int topk = 10;
    double topp = 0.9;
    double temperature = 1.0;
    int max_length = 256;  // tokens of a reply, END among them
    std::uint64_t seed = 0;
};

// Ids that generation treats specially. START is fed first and never generated; END ends.
struct SpecialTokens {
    std::int32_t start = 1;
    std::int32_t end = 2;
};

// A reply without START and END. The score is the sum of its tokens' log-probabilities, END among
// them, divided by ((1 + length) / 6) ^ beam_length_penalty, where ParlAI's length counts both
// START and END.
struct Hypothesis {
    std::vector<std::int32_t> tokens;
    double score = 0;
};

// The replies to each context, in order, that ended within max_length, the best first; or one that
// is cut there, whose last token gives way to END, as in ParlAI. rows[i] is the global row of
// context i: what is sampled depends on (seed, row, sample, token) and on nothing else. Greedy is a
// beam of one without a minimal length. whole_contexts, none or one for each context, are what
// those were before they were cut. Throws a config error that names the option when one is out of
// range.
std::vector<std::vector<Hypothesis>> generate_ranked(
    IncrementalDecoder& decoder, const std::vector<std::vector<std::int32_t>>& contexts,
    const std::vector<std::uint32_t>& rows, const GenerationOptions& options,
    const SpecialTokens& special,
    const std::vector<std::vector<std::int32_t>>& whole_contexts = {});

// The best of each.
std::vector<Hypothesis> generate(IncrementalDecoder& decoder,
                                 const std::vector<std::vector<std::int32_t>>& contexts,
                                 const std::vector<std::uint32_t>& rows,
                                 const GenerationOptions& options, const SpecialTokens& special,
                                 const std::vector<std::vector<std::int32_t>>& whole_contexts = {});

}  // namespace lockstep::model

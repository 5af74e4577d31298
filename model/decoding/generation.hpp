// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/decoding/decoder.hpp"

namespace lockstep::model {

enum class Inference { greedy, beam, topk, nucleus };

// These are ParlAI's options and defaults. A size below 1 turns n-gram blocking off.
struct GenerationOptions {
    Inference inference = Inference::greedy;
    int beam_size = 1;  // topk and nucleus: number of independent samples; the best is returned
    int beam_min_length = 1;
    int beam_block_ngram = -1;
    int beam_context_block_ngram = -1;
    bool beam_block_full_context = true;  // also blocks n-grams of the part that was cut off
    double beam_length_penalty = 0.65;
    int topk = 10;
    double topp = 0.9;
    // Multiplies or divides the scores of tokens that the reply has, and of those of the context if
    // the model reads both as one text: of logits, or with `beam` of log-probabilities, as in
    // transformers. 1: off.
    double repetition_penalty = 1.0;
    // topk and nucleus draw no token that is less likely than this share of the likeliest. 0: off.
    double min_p = 0.0;
    double temperature = 1.0;
    int max_length = 256;  // tokens of a reply, including END
    std::uint64_t seed = 0;
    // Tells of the tokens of a reply so far whether it ends with the last of them, without END.
    // Empty: only END ends a reply. Several threads call it.
    std::function<bool(std::span<const std::int32_t> tokens)> is_complete = {};
};

// Holds the ids that generation treats specially. START is fed first and is not generated unless it
// is an end, too; a model
// without it goes on from the last token of the context, which no context may lack then. Any of the
// ends, which are END below, ends a reply. The model's table may have more rows than there are
// tokens: these are never generated, but keep their probability.
struct SpecialTokens {
    std::optional<std::int32_t> start = 1;
    std::vector<std::int32_t> ends = {2};
    std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
    // Is the first token of each reply; nothing: the model chooses it.
    std::optional<std::int32_t> first = std::nullopt;
};

// A hypothesis is a reply without START and END. The score is the sum of its tokens'
// log-probabilities, including END's, divided by ((1 + length) / 6) ^ beam_length_penalty; as in
// ParlAI, the length includes START and END. A reply that is_complete() ended has no END.
struct Hypothesis {
    std::vector<std::int32_t> tokens;
    double score = 0;
};

// Returns the replies to each context, in the contexts' order, the best first. They are those that
// ended within max_length, by END or by is_complete(); if none did, the single reply is cut there
// and its last token is replaced by END, as in ParlAI. rows[i] is the global row of context i:
// sampling depends only on (seed, row, sample, token). Greedy is a beam of one without a minimum
// length. whole_contexts is empty or holds each context as it was before it was cut. Throws kind
// config naming the option when one is out of range.
std::vector<std::vector<Hypothesis>> generate_ranked(
    IncrementalDecoder& decoder, const std::vector<std::vector<std::int32_t>>& contexts,
    const std::vector<std::uint32_t>& rows, const GenerationOptions& options,
    const SpecialTokens& special,
    const std::vector<std::vector<std::int32_t>>& whole_contexts = {});

// Returns the best reply to each context.
std::vector<Hypothesis> generate(IncrementalDecoder& decoder,
                                 const std::vector<std::vector<std::int32_t>>& contexts,
                                 const std::vector<std::uint32_t>& rows,
                                 const GenerationOptions& options, const SpecialTokens& special,
                                 const std::vector<std::vector<std::int32_t>>& whole_contexts = {});

}  // namespace lockstep::model

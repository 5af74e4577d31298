// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoding/generation.hpp"

namespace lockstep::model {

// Holds the hypotheses of one context, as ParlAI's TreeSearch does: several live ones and those
// that have ended. Live hypothesis i uses the context's slot i.
class Search {
public:
    // Names the slot that slot i continues and the token that is fed to it next.
    struct Move {
        int from;
        std::int32_t token;
    };

    // Says which tokens of the context, which must outlive the search, may come again: `blocked` is
    // for n-grams, `penalised` is what the model reads as one text with the reply.
    struct Context {
        const std::vector<std::int32_t>& blocked;
        std::span<const std::int32_t> penalised;
    };

    // The options must outlive the search. It ends after at most `steps` tokens.
    Search(const GenerationOptions& options, const SpecialTokens& special, const Context& context,
           std::uint32_t row, int steps);

    int live() const noexcept { return static_cast<int>(live_.size()); }
    bool done() const noexcept { return done_; }

    // Turns the logits of live hypothesis i into log-probabilities, in place, with the temperature
    // and the penalty for repetitions. The token START gets none.
    void normalise_row(int i, std::span<float> logits) const;

    // Takes the log-probabilities [live(), vocabulary] of each live hypothesis' next token, which
    // it may change. Returns the origin of each hypothesis that is live afterwards.
    std::vector<Move> advance(std::span<float> log_probs, std::int64_t vocabulary);

    // Returns the ended hypotheses, the best score after the length penalty first. If none has
    // ended, it returns only the first live one without its last token, because ParlAI replaces
    // that token by END.
    std::vector<Hypothesis> ranked() const;

private:
    struct Candidate {
        int from;
        std::int32_t token;
        double score;
    };
    class MostLikely;

    void penalise(int i, std::span<float> scores) const;
    void forbid(const Hypothesis& hypothesis, std::span<float> log_probs) const;
    std::vector<Candidate> most_likely(std::span<const float> log_probs,
                                       std::int64_t vocabulary) const;
    std::vector<Candidate> sampled(std::span<const float> log_probs, std::int64_t vocabulary) const;
    bool samples() const noexcept;
    double rescored(const Hypothesis& hypothesis, int special_tokens) const;
    bool ended(const Candidate& candidate, Hypothesis& hypothesis);

    // A hypothesis that END ended, or is_complete(), and the special tokens that its length counts.
    struct Ended {
        Hypothesis hypothesis;
        int special_tokens;
    };

    const GenerationOptions& options_;
    const SpecialTokens special_;
    const Context context_;
    std::uint32_t row_;
    int width_, min_length_, steps_left_;
    std::vector<Hypothesis> live_;  // scores are plain sums, as in ended_
    std::vector<Ended> ended_;
    std::vector<std::uint32_t> samples_;  // live_[i] is this sample
    bool top_ended_ = false, done_ = false;
};

}  // namespace lockstep::model

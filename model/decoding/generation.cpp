// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/generation.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "model/decoding/sampling.hpp"
#include "model/decoding/search.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/region_failure.hpp"

namespace lockstep::model {

namespace {

void require_option(bool good, const std::string& message) {
    if (!good) throw Error(ErrorKind::config, message);
}

void check(const GenerationOptions& o) {
    require_option(o.beam_size >= 1,
                   "--beam-size is " + std::to_string(o.beam_size) + ": give at least 1");
    require_option(o.inference != Inference::greedy || o.beam_size == 1,
                   "--inference greedy keeps one hypothesis, but --beam-size is " +
                       std::to_string(o.beam_size) + ": give --inference beam, or --beam-size 1");
    require_option(o.topk >= 1, "--topk is " + std::to_string(o.topk) + ": give at least 1");
    require_option(o.topp > 0 && o.topp <= 1,
                   "--topp is " + std::to_string(o.topp) + ": give more than 0, at most 1");
    require_option(o.temperature > 0, "--temperature is " + std::to_string(o.temperature) +
                                          ": give more than 0, or --inference greedy");
    require_option(o.repetition_penalty > 0, "--repetition-penalty is " +
                                                 std::to_string(o.repetition_penalty) +
                                                 ": give more than 0; 1 is none");
    require_option(o.min_p >= 0 && o.min_p <= 1,
                   "--min-p is " + std::to_string(o.min_p) + ": give at least 0, at most 1");
    require_option(o.max_length >= 1,
                   "--max-length is " + std::to_string(o.max_length) + ": give at least 1");
}

// Collects the next tokens of all contexts' searches and feeds them to the decoder in one batch.
class Generation {
public:
    Generation(IncrementalDecoder& decoder, const GenerationOptions& options,
               const SpecialTokens& special)
        : decoder_(decoder),
          options_(options),
          special_(special),
          vocabulary_(decoder.vocabulary()) {}

    std::vector<std::vector<Hypothesis>> run(
        const std::vector<std::vector<std::int32_t>>& contexts,
        const std::vector<std::uint32_t>& rows,
        const std::vector<std::vector<std::int32_t>>& blocked) {
        const std::vector<int> steps =
            decoder_.start(prefixes_of(contexts), options_.beam_size, options_.max_length);
        for (std::size_t c = 0; c < contexts.size(); ++c) {
            searches_.emplace_back(options_, special_,
                                   Search::Context{blocked[c], penalised_of(contexts[c])}, rows[c],
                                   steps[c]);
        }
        unmoved_.resize(contexts.size() * options_.beam_size);
        std::iota(unmoved_.begin(), unmoved_.end(), 0);
        for (feed_first(contexts); !slots_.empty(); advance())
            decoder_.step(slots_, tokens_, logits_);
        std::vector<std::vector<Hypothesis>> ranked;
        for (const Search& search : searches_) ranked.push_back(search.ranked());
        return ranked;
    }

private:
    std::int32_t first_slot(std::size_t context) const {
        return static_cast<std::int32_t>(context) * options_.beam_size;
    }

    // Returns what the decoder has read before the first token is fed.
    std::vector<std::vector<std::int32_t>> prefixes_of(
        std::vector<std::vector<std::int32_t>> contexts) const {
        if (special_.start) return contexts;
        for (auto& context : contexts) {
            require(!context.empty(), "a model without START needs a context");
            context.pop_back();
        }
        return contexts;
    }

    // An encoder's tokens are no part of the text that goes on, which begins with START. That may
    // be the token that ends a reply.
    std::span<const std::int32_t> penalised_of(const std::vector<std::int32_t>& context) const {
        if (decoder_.stacks() == Stacks::decoder) return context;
        return special_.start ? std::span<const std::int32_t>(&*special_.start, 1)
                              : std::span<const std::int32_t>();
    }

    void feed_first(const std::vector<std::vector<std::int32_t>>& contexts) {
        for (std::size_t c = 0; c < searches_.size(); ++c) {
            for (int i = 0; i < searches_[c].live(); ++i) {
                slots_.push_back(first_slot(c) + i);
                tokens_.push_back(special_.start ? *special_.start : contexts[c].back());
            }
        }
    }

    // A search that goes on, the logits of its live hypotheses, and where they go.
    struct Turn {
        std::size_t context;
        std::span<float> logits;
        std::vector<Search::Move> moves;
    };

    void advance() {
        std::vector<Turn> turns = turns_of_all();
        take_turns(turns);
        std::vector<std::int32_t> from = unmoved_;
        slots_.clear();
        tokens_.clear();
        for (const Turn& turn : turns) {
            if (searches_[turn.context].done()) continue;
            const std::int32_t first = first_slot(turn.context);
            for (int i = 0; i < static_cast<int>(turn.moves.size()); ++i) {
                from[first + i] = first + turn.moves[i].from;
                slots_.push_back(first + i);
                tokens_.push_back(turn.moves[i].token);
            }
        }
        if (from != unmoved_) decoder_.reorder(from);
    }

    std::vector<Turn> turns_of_all() {
        std::vector<Turn> turns;
        float* next = logits_.data();
        for (std::size_t c = 0; c < searches_.size(); ++c) {
            if (searches_[c].done()) continue;
            const auto count = static_cast<std::size_t>(searches_[c].live() * vocabulary_);
            turns.push_back({c, {next, count}, {}});
            next += count;
        }
        return turns;
    }

    // The searches do not know of each other, so threads share them.
    void take_turns(std::vector<Turn>& turns) {
        RegionFailure failure;
        const int threads = turns.size() > 1 ? decoder_.host_threads(std::ssize(logits_)) : 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
        for (Turn& turn : turns) failure.guard([&] { take_turn(turn); });
        failure.rethrow();
    }

    void take_turn(Turn& turn) {
        Search& search = searches_[turn.context];
        for (int i = 0; i < search.live(); ++i) {
            const auto row = turn.logits.subspan(i * vocabulary_, vocabulary_);
            search.normalise_row(i, row);
            std::ranges::fill(row.subspan(std::min(special_.tokens, vocabulary_)), impossible);
        }
        turn.moves = search.advance(turn.logits, vocabulary_);
    }

    IncrementalDecoder& decoder_;
    const GenerationOptions& options_;
    const SpecialTokens special_;
    const std::int64_t vocabulary_;
    std::vector<Search> searches_;
    std::vector<std::int32_t> slots_, tokens_, unmoved_;
    std::vector<float> logits_;
};

}  // namespace

std::vector<Hypothesis> generate(IncrementalDecoder& decoder,
                                 const std::vector<std::vector<std::int32_t>>& contexts,
                                 const std::vector<std::uint32_t>& rows,
                                 const GenerationOptions& options, const SpecialTokens& special,
                                 const std::vector<std::vector<std::int32_t>>& whole_contexts) {
    std::vector<Hypothesis> best;
    for (auto& ranked :
         generate_ranked(decoder, contexts, rows, options, special, whole_contexts)) {
        best.push_back(std::move(ranked.front()));
    }
    return best;
}

std::vector<std::vector<Hypothesis>> generate_ranked(
    IncrementalDecoder& decoder, const std::vector<std::vector<std::int32_t>>& contexts,
    const std::vector<std::uint32_t>& rows, const GenerationOptions& options,
    const SpecialTokens& special, const std::vector<std::vector<std::int32_t>>& whole_contexts) {
    check(options);
    require(rows.size() == contexts.size(), "generate: one row per context");
    const bool whole = options.beam_block_full_context && !whole_contexts.empty();
    const auto& blocked = whole ? whole_contexts : contexts;
    require(blocked.size() == contexts.size(), "generate: one whole context per context");
    if (contexts.empty()) return {};
    return Generation(decoder, options, special).run(contexts, rows, blocked);
}

}  // namespace lockstep::model

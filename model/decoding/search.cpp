// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/decoding/ngram_blocking.hpp"
#include "model/decoding/repetition_penalty.hpp"
#include "model/decoding/sampling.hpp"

namespace lockstep::model {

namespace {

float largest(std::span<const float> values) {
    float most = impossible;
#pragma omp simd reduction(max : most)
    for (std::size_t j = 0; j < values.size(); ++j) most = values[j] > most ? values[j] : most;
    return most;
}

// Some decoders begin with the token that ends a reply, which they must be able to say.
std::int32_t never_said(const SpecialTokens& special) {
    const std::int32_t start = special.start.value_or(-1);
    return std::ranges::find(special.ends, start) == special.ends.end() ? start : -1;
}

}  // namespace

// Keeps the best candidates of those that are offered.
class Search::MostLikely {
public:
    explicit MostLikely(int width) : width_(static_cast<std::size_t>(width)) {}

    // Returns whether no candidate with this score or a lower one would be kept.
    bool refuses(double score) const {
        return heap_.size() == width_ && score < heap_.front().score;
    }

    void offer(const Candidate& candidate) {
        const bool full = heap_.size() == width_;
        if (full && !better(candidate, heap_.front())) return;
        if (full) {
            std::pop_heap(heap_.begin(), heap_.end(), better);
            heap_.pop_back();
        }
        heap_.push_back(candidate);
        std::push_heap(heap_.begin(), heap_.end(), better);
    }

    // Returns what was kept, the best first, and keeps nothing.
    std::vector<Candidate> take_sorted() {
        std::sort_heap(heap_.begin(), heap_.end(), better);
        return std::move(heap_);
    }

private:
    static bool better(const Candidate& a, const Candidate& b) {
        if (a.score != b.score) return a.score > b.score;
        return a.from != b.from ? a.from < b.from : a.token < b.token;
    }

    std::size_t width_;
    std::vector<Candidate> heap_;  // the worst kept candidate is in front
};

Search::Search(const GenerationOptions& options, const SpecialTokens& special,
               const Context& context, std::uint32_t row, int steps)
    : options_(options),
      special_(special),
      context_(context),
      row_(row),
      width_(options.inference == Inference::greedy ? 1 : options.beam_size),
      min_length_(options.inference == Inference::greedy ? 0 : options.beam_min_length),
      steps_left_(steps),
      live_(samples() ? width_ : 1),
      samples_(live_.size()) {
    std::iota(samples_.begin(), samples_.end(), 0u);
}

bool Search::samples() const noexcept {
    return options_.inference == Inference::topk || options_.inference == Inference::nucleus;
}

void Search::penalise(int i, std::span<float> scores) const {
    if (options_.repetition_penalty == 1) return;
    std::vector<std::int32_t> seen(context_.penalised.begin(), context_.penalised.end());
    seen.insert(seen.end(), live_[i].tokens.begin(), live_[i].tokens.end());
    penalise_repetition(options_.repetition_penalty, seen, scores);
}

// A beam compares log-probabilities, so that is where transformers applies its penalty then.
void Search::normalise_row(int i, std::span<float> logits) const {
    const bool beam = options_.inference == Inference::beam;
    if (!beam) penalise(i, logits);
    normalise(logits, options_.temperature, never_said(special_));
    if (beam) penalise(i, logits);
}

void Search::forbid(const Hypothesis& hypothesis, std::span<float> log_probs) const {
    const auto& tokens = hypothesis.tokens;
    if (special_.first && tokens.empty()) {
        std::ranges::fill(log_probs, impossible);
        log_probs[*special_.first] = 0;  // as in transformers
        return;
    }
    if (static_cast<int>(tokens.size()) < min_length_) {
        for (const std::int32_t end : special_.ends) log_probs[end] = impossible;
    }
    block_ngrams(options_.beam_block_ngram, tokens, tokens, log_probs);
    block_ngrams(options_.beam_context_block_ngram, tokens, context_.blocked, log_probs);
}

auto Search::most_likely(std::span<const float> log_probs, std::int64_t vocabulary) const
    -> std::vector<Candidate> {
    constexpr std::int64_t piece = 64;
    MostLikely kept(width_);
    for (int i = 0; i < live(); ++i) {
        const auto row = log_probs.subspan(i * vocabulary, vocabulary);
        for (std::int64_t first = 0; first < vocabulary; first += piece) {
            const auto some = row.subspan(first, std::min(piece, vocabulary - first));
            const float highest = largest(some);
            if (highest == impossible || kept.refuses(live_[i].score + highest)) continue;
            for (std::size_t j = 0; j < some.size(); ++j) {
                if (some[j] == impossible) continue;
                kept.offer({i, static_cast<std::int32_t>(first + j), live_[i].score + some[j]});
            }
        }
    }
    return kept.take_sorted();
}

auto Search::sampled(std::span<const float> log_probs, std::int64_t vocabulary) const
    -> std::vector<Candidate> {
    std::vector<Candidate> candidates;
    for (int i = 0; i < live(); ++i) {
        const auto row = log_probs.subspan(i * vocabulary, vocabulary);
        if (*std::max_element(row.begin(), row.end()) == impossible) continue;
        const double number = sampling_number(options_.seed, row_, samples_[i],
                                              static_cast<std::uint32_t>(live_[i].tokens.size()));
        const Choice choice = options_.inference == Inference::topk
                                  ? sample_topk(row, options_.topk, options_.min_p, number)
                                  : sample_nucleus(row, options_.topp, options_.min_p, number);
        candidates.push_back({i, choice.token, live_[i].score + choice.log_prob});
    }
    return candidates;
}

// Adds the candidate's token to its hypothesis, and keeps the hypothesis if that ends it.
bool Search::ended(const Candidate& candidate, Hypothesis& hypothesis) {
    constexpr int start_alone = 1, start_and_end = 2;
    if (std::ranges::find(special_.ends, candidate.token) != special_.ends.end()) {
        ended_.push_back({std::move(hypothesis), start_and_end});
        return true;
    }
    hypothesis.tokens.push_back(candidate.token);
    if (!options_.is_complete || !options_.is_complete(hypothesis.tokens)) return false;
    ended_.push_back({std::move(hypothesis), start_alone});
    return true;
}

auto Search::advance(std::span<float> log_probs, std::int64_t vocabulary) -> std::vector<Move> {
    for (int i = 0; i < live(); ++i) {
        forbid(live_[i], log_probs.subspan(i * vocabulary, vocabulary));
    }
    const auto candidates =
        samples() ? sampled(log_probs, vocabulary) : most_likely(log_probs, vocabulary);
    done_ = candidates.empty();  // all tokens are forbidden: the live hypotheses are the answer
    if (done_) return {};

    std::vector<Move> moves;
    std::vector<Hypothesis> next;
    std::vector<std::uint32_t> next_samples;
    for (const Candidate& c : candidates) {
        Hypothesis hypothesis{live_[c.from].tokens, c.score};
        if (ended(c, hypothesis)) {
            top_ended_ = top_ended_ || &c == candidates.data();
            continue;
        }
        next.push_back(std::move(hypothesis));
        if (samples()) next_samples.push_back(samples_[c.from]);
        moves.push_back({c.from, c.token});
    }
    const bool enough = top_ended_ && static_cast<int>(ended_.size()) >= width_;
    done_ = next.empty() || (enough && !samples()) || --steps_left_ == 0;
    live_ = std::move(next);
    samples_ = std::move(next_samples);
    return moves;
}

double Search::rescored(const Hypothesis& hypothesis, int special_tokens) const {
    const auto length = static_cast<double>(hypothesis.tokens.size()) + special_tokens;
    return hypothesis.score / std::pow((1 + length) / 6, options_.beam_length_penalty);
}

std::vector<Hypothesis> Search::ranked() const {
    if (ended_.empty()) {
        Hypothesis cut{live_.front().tokens, rescored(live_.front(), 1)};  // START
        if (steps_left_ == 0) cut.tokens.pop_back();
        return {cut};
    }
    std::vector<Hypothesis> all;
    for (const auto& [hypothesis, special_tokens] : ended_)
        all.push_back({hypothesis.tokens, rescored(hypothesis, special_tokens)});
    std::stable_sort(all.begin(), all.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    return all;
}

}  // namespace lockstep::model

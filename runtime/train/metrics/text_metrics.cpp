// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/text_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::train {
namespace {

using Counts = std::map<std::vector<std::string_view>, std::int64_t>;

Counts ngrams(const Tokens& tokens, int order) {
    Counts counts;
    for (auto first = tokens.begin(); tokens.end() - first >= order; ++first) {
        ++counts[{first, first + order}];
    }
    return counts;
}

struct Matches {
    double matched, total;
};

// Counts the guess' n-grams that occur in a reference, each at most as often as in the reference
// that has it most often.
Matches clipped_matches(const Tokens& guess, std::span<const Tokens> references, int order) {
    std::int64_t matched = 0, total = 0;
    std::vector<Counts> in_references;
    for (const Tokens& reference : references) in_references.push_back(ngrams(reference, order));
    for (const auto& [ngram, count] : ngrams(guess, order)) {
        std::int64_t most = 0;
        for (const Counts& counts : in_references) {
            if (const auto found = counts.find(ngram); found != counts.end()) {
                most = std::max(most, found->second);
            }
        }
        matched += std::min(count, most);
        total += count;
    }
    return {static_cast<double>(matched), static_cast<double>(std::max<std::int64_t>(total, 1))};
}

// Calculates the penalty against the reference nearest in length; if two are equally near, the
// shorter one counts.
double brevity_penalty(const Tokens& guess, std::span<const Tokens> references) {
    const auto length = [](const Tokens& tokens) {
        return static_cast<std::int64_t>(tokens.size());
    };
    const auto distance = [&](const Tokens& reference) {
        return std::pair(std::abs(length(reference) - length(guess)), length(reference));
    };
    const std::int64_t nearest = length(*std::ranges::min_element(references, {}, distance));
    if (length(guess) > nearest) return 1;
    return std::exp(1 - static_cast<double>(nearest) / static_cast<double>(length(guess)));
}

// Splits as Python's text.split(' '): an empty text gives one empty word.
Tokens split_at_blanks(const NormalText& text) {
    return text.words.empty() ? Tokens{""} : text.words;
}

std::int64_t ngram_count(const Tokens& words, int order) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(words.size()) - order + 1, 0);
}

}  // namespace

double common_ngrams(const Tokens& a, const Tokens& b, int order) {
    return clipped_matches(a, {&b, 1}, order).matched;
}

double exact_match(const NormalText& reply, References references) {
    const bool found = std::ranges::any_of(
        references, [&](const NormalText& reference) { return reference.text == reply.text; });
    return found ? 1 : 0;
}

WordOverlap word_overlap(const NormalText& reply, References references) {
    WordOverlap best;
    for (const NormalText& reference : references) {
        const double same = common_ngrams(reply.words, reference.words, 1);
        if (same == 0) continue;
        const double precision = same / static_cast<double>(reply.words.size());
        const double recall = same / static_cast<double>(reference.words.size());
        best.precision = std::max(best.precision, precision);
        best.recall = std::max(best.recall, recall);
        best.f1 = std::max(best.f1, 2 * precision * recall / (precision + recall));
    }
    return best;
}

double sentence_bleu(const NormalText& reply, References references, int order) {
    constexpr double epsilon = 1e-12;
    require(order > 0, "BLEU needs at least unigrams");
    if (references.empty()) return 0;
    const Tokens guess = split_at_blanks(reply);
    std::vector<Tokens> expected;
    for (const NormalText& reference : references) expected.push_back(split_at_blanks(reference));
    double log_sum = 0;
    for (int n = 1; n <= order; ++n) {
        const auto [matched, total] = clipped_matches(guess, expected, n);
        if (n == 1 && matched == 0) return 0;
        log_sum += std::log((matched == 0 ? epsilon : matched) / total);
    }
    return brevity_penalty(guess, expected) * std::exp(log_sum / order);
}

double intra_distinct(const NormalText& reply, int order) {
    // ParlAI's lower bounds give a reply without an n-gram the value 1e-7.
    const auto all = static_cast<double>(ngram_count(reply.words, order));
    const auto different = static_cast<double>(ngrams(reply.words, order).size());
    return std::max(different, 1e-12) / std::max(all, 1e-5);
}

std::vector<std::uint64_t> ngram_hashes(const NormalText& reply, int order) {
    std::vector<std::uint64_t> hashes;
    for (std::int64_t first = 0; first < ngram_count(reply.words, order); ++first) {
        std::string ngram;  // unique because no word contains a blank
        for (std::int64_t i = first; i < first + order; ++i)
            ngram += reply.words[static_cast<std::size_t>(i)] + " ";
        hashes.push_back(hash64(ngram));
    }
    return hashes;
}

}  // namespace lockstep::train

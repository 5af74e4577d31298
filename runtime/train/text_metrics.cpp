// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/text_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

namespace lockstep::train {
namespace {

using Tokens = std::vector<std::string>;
using Counts = std::map<std::vector<std::string_view>, std::int64_t>;

bool is_ascii_punctuation(char c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

// Not white space and not part of a word: the signs that stand next to words in ordinary text. What
// Python's \w leaves out beyond these would matter only when set against a bare article.
bool is_sign(char32_t c) {
    struct Range {
        char32_t first, last;
    };
    constexpr Range signs[] = {
        {0x00, 0x1F},     {0x7F, 0xA9},      {0xAB, 0xB1},     {0xB4, 0xB4},     {0xB6, 0xB8},
        {0xBB, 0xBB},     {0xBF, 0xBF},      {0xD7, 0xD7},     {0xF7, 0xF7},     {0x300, 0x36F},
        {0x200B, 0x206F}, {0x20A0, 0x20FF},  {0x2190, 0x245F}, {0x2500, 0x2775}, {0x2794, 0x2BFF},
        {0x3001, 0x3003}, {0x3008, 0x3020},  {0xFE00, 0xFE0F}, {0xFE10, 0xFE6F}, {0xFF01, 0xFF0F},
        {0xFF1A, 0xFF20}, {0x1F300, 0x1FAFF}};
    return std::ranges::any_of(signs, [c](Range r) { return r.first <= c && c <= r.last; });
}

// The code point that begins at text[at] and its length; a byte that is no UTF-8 stands for itself.
struct CodePoint {
    char32_t value;
    std::size_t bytes;
};

CodePoint decode(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || at + length > text.size()) return {0xFFFD, 1};
    char32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t i = at + 1; i < at + length; ++i) {
        if ((byte(i) & 0xC0u) != 0x80u) return {0xFFFD, 1};
        value = (value << 6) | (byte(i) & 0x3Fu);
    }
    return {value, length};
}

bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

// Python's str.split(' '): an empty text is one empty token.
Tokens split_on_spaces(std::string_view text) {
    Tokens tokens;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find(' ', begin);
        tokens.emplace_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos) return tokens;
        begin = end + 1;
    }
}

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

// Of the guess' n-grams, those found in a reference, each at most as often as in the reference that
// has it most often.
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

// Against the reference nearest in length, the shorter of two as near.
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

double f1_of(const Tokens& guess, const Tokens& reference) {
    const double same = clipped_matches(guess, {&reference, 1}, 1).matched;
    if (same == 0) return 0;
    const double precision = same / static_cast<double>(guess.size());
    const double recall = same / static_cast<double>(reference.size());
    return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::string lower_ascii(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

std::string normalize_answer(std::string_view text, const Lower& lower) {
    const std::string lowered = lower(text);
    std::string normal, word;  // word: since the last white space, with its signs
    std::string run;           // letters since the last sign: an article goes when it is alone
    const auto end_run = [&] {
        word += is_article(run) ? " " : run;
        run.clear();
    };
    const auto end_word = [&] {
        end_run();
        for (const std::string& part : split_on_spaces(word)) {
            if (part.empty()) continue;
            if (!normal.empty()) normal += ' ';
            normal += part;
        }
        word.clear();
    };
    for (std::size_t at = 0; at < lowered.size();) {
        const auto [value, bytes] = decode(lowered, at);
        const std::string_view here = std::string_view(lowered).substr(at, bytes);
        if (is_space(value) || is_ascii_punctuation(here[0])) {
            end_word();
        } else if (is_sign(value)) {
            end_run();
            word += here;
        } else {
            run += here;
        }
        at += bytes;
    }
    end_word();
    return normal;
}

double token_f1(std::string_view guess, std::span<const std::string> references,
                const Lower& lower) {
    const std::string normal = normalize_answer(guess, lower);
    if (normal.empty()) return 0;
    double best = 0;
    for (const std::string& reference : references) {
        best = std::max(best, f1_of(split_on_spaces(normal),
                                    split_on_spaces(normalize_answer(reference, lower))));
    }
    return best;
}

double sentence_bleu(std::string_view guess, std::span<const std::string> references, int order,
                     const Lower& lower) {
    constexpr double epsilon = 1e-12;
    require(order > 0, "BLEU needs at least unigrams");
    if (references.empty()) return 0;
    const Tokens guess_tokens = split_on_spaces(normalize_answer(guess, lower));
    std::vector<Tokens> reference_tokens;
    for (const std::string& reference : references) {
        reference_tokens.push_back(split_on_spaces(normalize_answer(reference, lower)));
    }
    double log_sum = 0;
    for (int n = 1; n <= order; ++n) {
        const auto [matched, total] = clipped_matches(guess_tokens, reference_tokens, n);
        if (n == 1 && matched == 0) return 0;
        log_sum += std::log((matched == 0 ? epsilon : matched) / total);
    }
    return brevity_penalty(guess_tokens, reference_tokens) * std::exp(log_sum / order);
}

void TextScores::add(std::string_view guess, std::span<const std::string> references) {
    sums_[0] += 1;
    sums_[1] += token_f1(guess, references, lower_);
    sums_[2] += sentence_bleu(guess, references, 4, lower_);
}

}  // namespace lockstep::train

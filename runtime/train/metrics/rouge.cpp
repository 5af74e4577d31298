// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/rouge.hpp"

#include <libstemmer.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/core/error.hpp"

namespace lockstep::train {
namespace {

constexpr std::size_t max_characters = 665;  // limit of py-rouge and the Perl script

// Keeps ASCII letters and digits of the first max_characters characters; all others become blanks.
std::string letters_and_digits(std::string_view text) {
    std::string kept;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0u) == 0x80u) continue;  // a character's later bytes
        if (kept.size() == max_characters) break;
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
        kept += plain ? c : ' ';
    }
    return kept;
}

// The Penn Treebank's tokenizer splits these words, and no other word without an apostrophe.
constexpr std::array<std::array<std::string_view, 3>, 5> contractions{{{"gimme", "gim", "me"},
                                                                       {"gonna", "gon", "na"},
                                                                       {"gotta", "got", "ta"},
                                                                       {"lemme", "lem", "me"},
                                                                       {"wanna", "wan", "na"}}};

double longest_common_subsequence(const Tokens& a, const Tokens& b) {
    std::vector<int> row(b.size() + 1, 0);
    for (const std::string& word : a) {
        int diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const int above = row[j + 1];
            row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
            diagonal = above;
        }
    }
    return row.back();
}

double recall(double same, double all) { return all > 0 ? same / all : 0; }

}  // namespace

class RougeScorer::Stemmer {
public:
    Stemmer() : stemmer_(sb_stemmer_new("porter", nullptr)) {
        require(stemmer_ != nullptr, "libstemmer knows Porter's algorithm");
    }
    ~Stemmer() { sb_stemmer_delete(stemmer_); }
    Stemmer(const Stemmer&) = delete;
    Stemmer& operator=(const Stemmer&) = delete;

    Tokens words_of(const NormalText& text) const {
        Tokens words;
        for (const std::string& word : NormalText::split(letters_and_digits(text.text))) {
            const auto found = std::ranges::find(
                contractions, word, [](const auto& contraction) { return contraction[0]; });
            if (found == contractions.end()) {
                words.push_back(stem(word));
            } else {
                words.insert(words.end(), {std::string((*found)[1]), std::string((*found)[2])});
            }
        }
        return words;
    }

private:
    std::string stem(const std::string& word) const {
        constexpr std::size_t longest_unstemmed = 3;
        if (word.size() <= longest_unstemmed) return word;
        const auto* begin = reinterpret_cast<const sb_symbol*>(word.data());
        const sb_symbol* stemmed = sb_stemmer_stem(stemmer_, begin, static_cast<int>(word.size()));
        require(stemmed != nullptr, "there is memory for a stem");
        return {reinterpret_cast<const char*>(stemmed),
                static_cast<std::size_t>(sb_stemmer_length(stemmer_))};
    }

    sb_stemmer* stemmer_;
};

RougeScorer::RougeScorer() : stemmer_(std::make_unique<Stemmer>()) {}
RougeScorer::~RougeScorer() = default;
RougeScorer::RougeScorer(RougeScorer&&) noexcept = default;
RougeScorer& RougeScorer::operator=(RougeScorer&&) noexcept = default;

Rouge RougeScorer::operator()(const NormalText& reply, References references) const {
    const Tokens guess = stemmer_->words_of(reply);
    Rouge best;
    for (const NormalText& reference : references) {
        const Tokens expected = stemmer_->words_of(reference);
        const auto words = static_cast<double>(expected.size());
        best.rouge_1 = std::max(best.rouge_1, recall(common_ngrams(guess, expected, 1), words));
        best.rouge_2 = std::max(best.rouge_2, recall(common_ngrams(guess, expected, 2), words - 1));
        best.rouge_l =
            std::max(best.rouge_l, recall(longest_common_subsequence(guess, expected), words));
    }
    return best;
}

}  // namespace lockstep::train

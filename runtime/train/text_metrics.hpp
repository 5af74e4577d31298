// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/view.hpp"

namespace lockstep::train {

// Lower-cases UTF-8 text. lower_ascii leaves everything beyond ASCII as it is.
using Lower = std::function<std::string(std::string_view)>;
std::string lower_ascii(std::string_view text);

// ParlAI's normalisation before comparing answers: lower case, ASCII punctuation and the articles
// a, an, the become spaces, runs of white space become one space, none at the ends.
std::string normalize_answer(std::string_view text, const Lower& lower = lower_ascii);

// F1 over the normalised tokens, order ignored: the best over the references; 0 without any.
double token_f1(std::string_view guess, std::span<const std::string> references,
                const Lower& lower = lower_ascii);

// Sentence BLEU up to `order`-grams with equal weights, as nltk's sentence_bleu with
// SmoothingFunction(epsilon=1e-12).method1 on the normalised texts; 0 without any reference.
double sentence_bleu(std::string_view guess, std::span<const std::string> references, int order = 4,
                     const Lower& lower = lower_ascii);

// Mean F1 and BLEU-4 of an evaluation set. The sums add up over ranks: all-reduce sums().
class TextScores {
public:
    explicit TextScores(Lower lower = lower_ascii) : lower_(std::move(lower)) {}

    void add(std::string_view guess, std::span<const std::string> references);

    HostView<double> sums() noexcept { return {sums_.data(), sums_.size()}; }
    double examples() const noexcept { return sums_[0]; }
    double f1() const noexcept { return mean(sums_[1]); }  // 0..1; 0 of no examples
    double bleu4() const noexcept { return mean(sums_[2]); }

private:
    double mean(double sum) const noexcept { return sums_[0] > 0 ? sum / sums_[0] : 0; }

    Lower lower_;
    std::array<double, 3> sums_{};  // examples, F1, BLEU-4
};

}  // namespace lockstep::train

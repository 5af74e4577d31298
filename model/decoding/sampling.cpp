// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/kernels/softmax_xent.hpp"

namespace lockstep::model {

namespace {

std::vector<std::int32_t> all_tokens(std::span<const float> log_probs) {
    std::vector<std::int32_t> tokens(log_probs.size());
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

// Compares in a total order, so that ties do not depend on the library.
auto more_likely(std::span<const float> log_probs) {
    return [log_probs](std::int32_t a, std::int32_t b) {
        return log_probs[a] != log_probs[b] ? log_probs[a] > log_probs[b] : a < b;
    };
}

// Draws an index into `tokens` in proportion to exp(log_probs[token]). Returns it with the sum of
// these values.
std::pair<std::size_t, double> draw(std::span<const float> log_probs,
                                    std::span<const std::int32_t> tokens, double uniform) {
    double total = 0;
    for (const std::int32_t token : tokens) total += std::exp(double{log_probs[token]});
    double left = uniform * total;
    std::size_t last_possible = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (log_probs[tokens[i]] == impossible) continue;
        last_possible = i;
        left -= std::exp(double{log_probs[tokens[i]]});
        if (left < 0) break;
    }
    return {last_possible, total};
}

// Removes from tokens in order, the likeliest first, those that are too unlikely beside it.
void keep_likely(std::vector<std::int32_t>& tokens, std::span<const float> log_probs,
                 double min_p) {
    if (min_p <= 0) return;
    const double most = log_probs[tokens.front()];
    const auto likely = [&](std::int32_t token) {
        return std::exp(double{log_probs[token]} - most) >= min_p;
    };
    const auto first_unlikely = std::find_if_not(tokens.begin() + 1, tokens.end(), likely);
    tokens.erase(first_unlikely, tokens.end());
}

}  // namespace

void normalise(std::span<float> logits, double temperature, std::int32_t never) {
    if (never >= 0) logits[never] = impossible;
    // Values of a model that has diverged must not break the order that sorting needs.
    for (float& x : logits) x = std::isfinite(x) ? x : impossible;
    if (temperature != 1) {
        const float largest = *std::max_element(logits.begin(), logits.end());
        // The scale must be neither 0 nor infinity, because a product of these is NaN.
        using Limits = std::numeric_limits<float>;
        const auto scale =
            static_cast<float>(std::clamp<double>(1 / temperature, Limits::min(), Limits::max()));
        for (float& x : logits) x = (x - largest) * scale;
    }
    kernels::log_softmax({logits.data(), logits.size()});
    if (std::ranges::none_of(logits, [](float x) { return std::isfinite(x); }))
        throw Error(ErrorKind::numeric,
                    "the model gives no token a finite score: its weights have diverged; take an "
                    "earlier checkpoint, or train again with a lower learning rate");
}

Choice sample_topk(std::span<const float> log_probs, int k, double min_p, double uniform) {
    auto tokens = all_tokens(log_probs);
    const auto kept = std::min(tokens.size(), static_cast<std::size_t>(k));
    std::partial_sort(tokens.begin(), tokens.begin() + kept, tokens.end(), more_likely(log_probs));
    tokens.resize(kept);
    keep_likely(tokens, log_probs, min_p);
    const std::size_t i = draw(log_probs, tokens, uniform).first;
    return {tokens[i], double{log_probs[tokens[i]]}};
}

Choice sample_nucleus(std::span<const float> log_probs, double p, double min_p, double uniform) {
    auto tokens = all_tokens(log_probs);
    double mass = 0;  // probability of the tokens that are not forbidden
    for (const float x : log_probs) mass += std::exp(x);
    std::size_t kept = 0, sorted = 0;
    for (double before = 0; kept < tokens.size() && before < p * mass; ++kept) {
        if (kept == sorted) {
            // The set is usually small, so the remaining tokens are sorted only if it is not.
            sorted = sorted == 0 ? std::min<std::size_t>(tokens.size(), 256) : tokens.size();
            const auto more = more_likely(log_probs);
            if (sorted < tokens.size()) {
                std::partial_sort(tokens.begin(), tokens.begin() + sorted, tokens.end(), more);
            } else {
                std::sort(tokens.begin() + kept, tokens.end(), more);
            }
        }
        before += std::exp(double{log_probs[tokens[kept]]});
    }
    tokens.resize(std::max<std::size_t>(kept, 1));
    keep_likely(tokens, log_probs, min_p);
    const auto [i, total] = draw(log_probs, tokens, uniform);
    return {tokens[i], double{log_probs[tokens[i]]} - std::log(total)};
}

double sampling_number(std::uint64_t seed, std::uint32_t row, std::uint32_t sample,
                       std::uint32_t position) {
    // This site number differs from those of dropout.
    constexpr std::uint32_t site = 0x53414D50;
    const PhiloxBlock words = philox({site, row, sample, position}, seed);
    const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace lockstep::model

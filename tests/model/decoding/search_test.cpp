// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace lockstep::model;

namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

// Few values are alike, the best of a row stand anywhere, and one piece of the row is impossible.
std::vector<float> random_log_probs(std::size_t rows, std::size_t words, std::mt19937& random) {
    std::vector<float> log_probs(rows * words);
    for (std::size_t j = 0; j < log_probs.size(); ++j) {
        const bool left_out = words > 200 && j % words >= 64 && j % words < 128;
        log_probs[j] = left_out ? impossible : -static_cast<float>(random() % 4096) / 64;
    }
    return log_probs;
}

struct Continuation {
    double score;
    int from;
    std::int32_t token;
};

// Returns the best `width` of the possible continuations, by sorting all of them.
std::vector<Continuation> sorted_best(const std::vector<double>& live,
                                      const std::vector<float>& log_probs, std::size_t width) {
    const std::size_t words = log_probs.size() / live.size();
    std::vector<Continuation> all;
    for (std::size_t j = 0; j < log_probs.size(); ++j) {
        if (log_probs[j] == impossible ||
            static_cast<std::int32_t>(j % words) == SpecialTokens{}.ends.front())
            continue;
        all.push_back({live[j / words] + double{log_probs[j]}, static_cast<int>(j / words),
                       static_cast<std::int32_t>(j % words)});
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.score > b.score; });
    all.resize(std::min(width, all.size()));
    return all;
}

}  // namespace

TEST_CASE("the search keeps the likeliest continuations, equal ones in the tokens' order") {
    GenerationOptions options;
    options.inference = Inference::beam;
    options.beam_size = 7;
    options.beam_min_length = 99;  // END is impossible
    const std::vector<std::int32_t> context;
    std::mt19937 random(1);
    for (const std::size_t words :
         {std::size_t{5}, std::size_t{64}, std::size_t{65}, std::size_t{250}, std::size_t{1000}}) {
        Search search(options, SpecialTokens{}, {context, {}}, 0, 40);
        std::vector<double> scores{0};
        for (int step = 0; step < 20; ++step) {
            auto log_probs = random_log_probs(scores.size(), words, random);
            const auto best = sorted_best(scores, log_probs, 7);
            const auto moves = search.advance(log_probs, static_cast<std::int64_t>(words));
            REQUIRE(moves.size() == best.size());
            scores.clear();
            for (std::size_t i = 0; i < best.size(); ++i) {
                CHECK(moves[i].from == best[i].from);
                CHECK(moves[i].token == best[i].token);
                scores.push_back(best[i].score);
            }
        }
    }
}

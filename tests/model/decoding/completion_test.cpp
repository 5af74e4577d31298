// SPDX-License-Identifier: Apache-2.0
// Replies that end where their caller finds them complete.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/decoding/generation.hpp"
#include "model/decoding/sampling.hpp"
#include "tests/model/decoding/toy_decoder.hpp"

using namespace lockstep::model;
using namespace lockstep::tests;

namespace {

bool ends_with_4(std::span<const std::int32_t> tokens) { return tokens.back() == 4; }

// Returns the reply of one hypothesis as it must be if it ends with its first 4.
Tokens up_to_4(ToyDecoder& decoder, GenerationOptions options, const Tokens& context,
               std::uint32_t row) {
    const Tokens cut = run(decoder, options, {context}, {row})[0].tokens;
    ++options.max_length;
    Tokens longer = run(decoder, options, {context}, {row})[0].tokens;
    longer.resize(std::min<std::size_t>(longer.size(), options.max_length - 1));
    const auto four = std::ranges::find(longer, 4);
    return four == longer.end() ? cut : Tokens(longer.begin(), four + 1);
}

}  // namespace

TEST_CASE("a reply also ends where the caller finds it complete") {
    int ended = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        ToyDecoder decoder(seed);
        for (const Inference inference : {Inference::greedy, Inference::topk, Inference::nucleus}) {
            GenerationOptions options = with(inference, 1);
            std::vector<Tokens> expected;
            for (const std::int32_t first : {3, 4, 0})
                expected.push_back(up_to_4(decoder, options, {first},
                                           static_cast<std::uint32_t>(10 + expected.size())));
            options.is_complete = ends_with_4;
            const auto replies = run(decoder, options);
            for (std::size_t c = 0; c < replies.size(); ++c) {
                CHECK(replies[c].tokens == expected[c]);
                ended += !expected[c].empty() && expected[c].back() == 4 ? 1 : 0;
            }
        }
    }
    CHECK(ended > 40);
}

TEST_CASE("complete hypotheses of several have ended, with END left out of their scores") {
    int ended = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        ToyDecoder decoder(seed);
        for (const Inference inference : {Inference::beam, Inference::topk}) {
            GenerationOptions options = with(inference, 3);
            options.is_complete = ends_with_4;
            const auto all =
                generate_ranked(decoder, {{3}, {0}}, {10, 12}, options, {start_token, {end_token}});
            const auto alone =
                generate_ranked(decoder, {{0}}, {12}, options, {start_token, {end_token}});
            REQUIRE(alone[0].size() == all[1].size());
            for (std::size_t i = 0; i < all[1].size(); ++i) {
                CHECK(alone[0][i].tokens == all[1][i].tokens);
                const Tokens& tokens = all[1][i].tokens;
                const auto four = std::ranges::find(tokens, 4);
                if (four == tokens.end()) continue;
                CHECK(four + 1 == tokens.end());
                ++ended;
                Tokens seen{0, 0, start_token};
                double sum = 0;
                for (const std::int32_t token : tokens) {
                    auto log_probs = decoder.scores_after(seen);
                    normalise(log_probs, 1, start_token);
                    sum += log_probs[token];
                    seen.push_back(token);
                }
                const double length = static_cast<double>(tokens.size()) + 1;  // with START
                CHECK(all[1][i].score ==
                      doctest::Approx(sum / std::pow((1 + length) / 6, 0.65)).epsilon(1e-5));
            }
        }
    }
    CHECK(ended > 20);
}

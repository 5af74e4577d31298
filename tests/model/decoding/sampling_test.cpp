// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/sampling.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/decoding/repetition_penalty.hpp"
#include "runtime/core/json_text.hpp"

using namespace lockstep::model;

namespace {

nlohmann::json golden() {
    return lockstep::parse_json(lockstep::read_json_text("tests/golden/generation.json"));
}

}  // namespace

TEST_CASE("top-k and nucleus draw from their set only, in proportion") {
    std::vector<float> log_probs{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
    std::map<std::int32_t, int> topk, nucleus;
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) {
        const double number = (i + 0.5) / draws;
        const Choice a = sample_topk(log_probs, 2, 0, number);
        const Choice b = sample_nucleus(log_probs, 0.75, 0, number);
        CHECK(a.log_prob == doctest::Approx(log_probs[a.token]));
        CHECK(b.log_prob == doctest::Approx(log_probs[b.token] - std::log(0.9)));
        ++topk[a.token];
        ++nucleus[b.token];
    }
    CHECK(topk.size() == 2);
    CHECK(topk[1] == doctest::Approx(draws * 4 / 7.0).epsilon(1e-3));
    CHECK(nucleus.size() == 3);  // 0.4 and 0.3 are still less than 0.75
    CHECK(nucleus[2] == doctest::Approx(draws * 2 / 9.0).epsilon(1e-3));
    CHECK(sample_nucleus(log_probs, 1e-9, 0, 0.99).token == 1);

    // There are more entries than are sorted at first. Token t has rank t * 37 % 1000, and the
    // ranks from 620 on have the upper half of the probability.
    std::vector<float> many(1000);
    for (int t = 0; t < 1000; ++t) many[t] = static_cast<float>(t * 37 % 1000) * 1e-3f;
    normalise(many, 1, -1);
    int lowest = 1000;
    for (int i = 0; i < 2000; ++i) {
        lowest = std::min(lowest, sample_nucleus(many, 0.5, 0, i / 2000.0).token * 37 % 1000);
    }
    CHECK(lowest == 620);
}

TEST_CASE("temperature sharpens and flattens, and what may never come does not") {
    std::vector<float> cold{1, 2, 3}, hot = cold;
    normalise(cold, 0.5, 2);
    normalise(hot, 100, -1);
    CHECK(std::isinf(cold[2]));
    CHECK(cold[1] == doctest::Approx(-std::log(1 + std::exp(-2.0))));
    std::vector<float> broken{std::nanf(""), 1, 1};
    normalise(broken, 1, -1);
    CHECK(std::isinf(broken[0]));
    CHECK(broken[1] == doctest::Approx(std::log(0.5)));
    for (const double temperature : {1.0, 0.5, 1e-30, 1e-40}) {
        std::vector<float> infinite{1, std::numeric_limits<float>::infinity(), 0};
        normalise(infinite, temperature, -1);
        CHECK(infinite[1] == -std::numeric_limits<float>::infinity());
        CHECK(infinite[0] == doctest::Approx(-std::log(1 + std::exp(-1 / temperature))));
    }
    CHECK(hot[0] == doctest::Approx(std::log(1 / 3.0)).epsilon(0.02));
    std::vector<float> flat{1, 2, -std::numeric_limits<float>::infinity()};
    normalise(flat, 1e50, -1);
    CHECK(flat[0] == doctest::Approx(std::log(0.5)));
    CHECK(flat[2] == -std::numeric_limits<float>::infinity());
}

TEST_CASE("the penalty for repetitions is transformers'") {
    const auto all = golden();
    for (const auto& of : all.at("penalties")) {
        auto scores = of.at("logits").get<std::vector<float>>();
        const auto seen = of.at("seen").get<std::vector<std::int32_t>>();
        penalise_repetition(of.at("penalty"), seen, scores);
        CHECK(scores == of.at("scores").get<std::vector<float>>());
    }
    constexpr float never = -std::numeric_limits<float>::infinity();
    std::vector<float> scores{-1, 2, never};
    penalise_repetition(1e-300, std::vector<std::int32_t>{0, 1, 2, 7}, scores);
    // The likelier token is much likelier, and is not taken for one that cannot follow.
    CHECK((std::isfinite(scores[1]) && scores[1] > 1e30F));
    CHECK(scores[0] <= 0);
    CHECK(scores[2] == never);
}

TEST_CASE("what min-p leaves to draw from is what transformers' warpers leave, in their order") {
    const auto all = golden();
    for (const auto& of : all.at("warped")) {
        auto log_probs = of.at("logits").get<std::vector<float>>();
        const auto expected = of.at("probabilities").get<std::vector<double>>();
        normalise(log_probs, of.at("temperature"), -1);
        constexpr int draws = 20000;
        std::vector<double> found(log_probs.size());
        for (int i = 0; i < draws; ++i) {
            const double number = (i + 0.5) / draws;
            const Choice choice =
                of.at("top_k").is_null()
                    ? sample_nucleus(log_probs, of.at("top_p"), of.at("min_p"), number)
                    : sample_topk(log_probs, of.at("top_k"), of.at("min_p"), number);
            found[choice.token] += 1.0 / draws;
            if (of.at("top_k").is_null())
                CHECK(choice.log_prob ==
                      doctest::Approx(std::log(expected[choice.token])).epsilon(1e-4).scale(1));
        }
        for (std::size_t token = 0; token < found.size(); ++token)
            CHECK(found[token] == doctest::Approx(expected[token]).epsilon(1e-4).scale(1));
    }
}

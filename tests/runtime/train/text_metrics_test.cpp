// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/text_metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace lockstep;
using train::normalize_answer;
using train::sentence_bleu;
using train::token_f1;

TEST_CASE("normalisation, F1 and BLEU equal Python's and nltk's") {
    std::ifstream in("tests/runtime/train/golden/text_metrics.json");
    const auto golden = nlohmann::json::parse(in);
    REQUIRE(golden.size() >= 20);
    for (const auto& entry : golden) {
        const auto guess = entry.at("guess").get<std::string>();
        const auto references = entry.at("references").get<std::vector<std::string>>();
        CAPTURE(guess);
        CHECK(normalize_answer(guess) == entry.at("normal").at(0).get<std::string>());
        for (std::size_t i = 0; i < references.size(); ++i) {
            CHECK(normalize_answer(references[i]) == entry.at("normal").at(i + 1));
        }
        CHECK(token_f1(guess, references) == doctest::Approx(entry.at("f1").get<double>()));
        const auto bleu = entry.at("bleu4").get<double>();
        CHECK(std::abs(sentence_bleu(guess, references) - bleu) <= 1e-9 * bleu);
    }
}

TEST_CASE("a caller's lower-casing is used") {
    const train::Lower upper_e_acute = [](std::string_view text) {
        std::string lower = train::lower_ascii(text);
        if (const auto at = lower.find("\u00C9"); at != std::string::npos) {
            lower.replace(at, 2, "\u00E9");
        }
        return lower;
    };
    CHECK(normalize_answer("\u00C9TUDE") == "\u00C9tude");
    CHECK(normalize_answer("\u00C9TUDE", upper_e_acute) == "\u00E9tude");
    CHECK(token_f1("\u00C9tude", std::vector<std::string>{"\u00E9tude"}) == 0);
    CHECK(token_f1("\u00C9tude", std::vector<std::string>{"\u00E9tude"}, upper_e_acute) == 1);
}

TEST_CASE("bytes that are not UTF-8 pass through") {
    CHECK(normalize_answer("the \xFF\xC3(end\xE2\x82") == "\xFF\xC3 end\xE2\x82");
}

TEST_CASE("no reference scores nothing") {
    CHECK(token_f1("word", {}) == 0);
    CHECK(sentence_bleu("word", {}) == 0);
}

TEST_CASE("scores of two ranks add up to those of one") {
    const std::vector<std::string> first = {"one two three four five"}, second = {"six"};
    train::TextScores all, left, right;
    all.add("one two three four", first);
    all.add("seven", second);
    left.add("one two three four", first);
    right.add("seven", second);
    for (std::size_t i = 0; i < left.sums().size(); ++i) left.sums()[i] += right.sums()[i];
    CHECK(left.examples() == 2);
    CHECK(left.f1() == all.f1());
    CHECK(left.bleu4() == all.bleu4());
    CHECK(all.f1() == doctest::Approx(0.5 * 2 * 0.8 / 1.8));
    CHECK(train::TextScores().f1() == 0);
}

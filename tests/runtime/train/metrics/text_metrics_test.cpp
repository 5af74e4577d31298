// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/text_metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/core/error.hpp"
#include "runtime/train/metrics/reply_metrics.hpp"

using namespace lockstep;
using train::NormalText;
using train::ReplyMetrics;

namespace {

nlohmann::json golden() {
    std::ifstream in("tests/runtime/train/golden/text_metrics.json");
    return nlohmann::json::parse(in);
}

std::vector<NormalText> normal(const std::vector<std::string>& texts) {
    std::vector<NormalText> normal;
    for (const std::string& text : texts) normal.emplace_back(text);
    return normal;
}

}  // namespace

TEST_CASE("normalisation and every metric of a reply equal ParlAI's") {
    const auto cases = golden().at("cases");
    REQUIRE(cases.size() >= 38);
    const ReplyMetrics all("all");
    REQUIRE(all.means().size() == 13);
    for (const auto& entry : cases) {
        const NormalText reply(entry.at("reply").get<std::string>());
        const auto references = normal(entry.at("references").get<std::vector<std::string>>());
        CAPTURE(entry.at("reply"));
        CHECK(reply.text == entry.at("normal").at(0).get<std::string>());
        for (std::size_t i = 0; i < references.size(); ++i)
            CHECK(references[i].text == entry.at("normal").at(i + 1));
        const auto scores = all.score(reply, references);
        REQUIRE(entry.at("metrics").size() == scores.size());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            CAPTURE(all.means()[i]);
            const auto expected = entry.at("metrics").at(all.means()[i]).get<double>();
            CHECK(std::abs(scores[i] - expected) <= 1e-9 * std::abs(expected));
        }
    }
}

TEST_CASE(
    "different n-grams among those of all replies are counted as ParlAI's InterDistinctMetric") {
    const auto expected = golden();
    const ReplyMetrics distinct("distinct");
    for (const int order : distinct.inter_distinct()) {
        std::vector<std::uint64_t> all;
        for (const auto& entry : expected.at("cases")) {
            const NormalText reply(entry.at("reply").get<std::string>());
            const auto hashes = train::ngram_hashes(reply, order);
            all.insert(all.end(), hashes.begin(), hashes.end());
        }
        const std::set<std::uint64_t> unique(all.begin(), all.end());
        const double share = static_cast<double>(unique.size()) / static_cast<double>(all.size());
        const std::string name = "interdistinct-" + std::to_string(order);
        CHECK(share == doctest::Approx(expected.at("all").at(name).get<double>()).epsilon(1e-12));
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
    CHECK(NormalText("\u00C9TUDE").text == "\u00C9tude");
    CHECK(NormalText("\u00C9TUDE", upper_e_acute).text == "\u00E9tude");
}

TEST_CASE("bytes that are not UTF-8 pass through") {
    CHECK(train::normalize_answer("the \xFF\xC3(end\xE2\x82") == "\xFF\xC3 end\xE2\x82");
    const std::vector<NormalText> references = normal({"\xFF\xC3(end"});
    CHECK_NOTHROW(ReplyMetrics("all").score(NormalText("\xFF\xC3(end\xE2\x82"), references));
}

TEST_CASE("metrics are chosen by ParlAI's names and groups") {
    const auto means = [](const char* list) { return ReplyMetrics(list).means(); };
    using Names = std::vector<std::string>;
    CHECK(means("default") == Names{"accuracy", "f1", "bleu-4"});
    CHECK(means("rouge-L,accuracy") == Names{"accuracy", "rouge_L"});
    CHECK(means("bleu") == Names{"bleu-1", "bleu-2", "bleu-3", "bleu-4"});
    CHECK(ReplyMetrics("distinct").inter_distinct() == std::vector<int>{1, 2});
    CHECK(ReplyMetrics("interdistinct-2").means().empty());
    CHECK(ReplyMetrics("f1", "rouge_2").means() == Names{"f1", "rouge_2"});
    CHECK(ReplyMetrics("f1", "ppl").means() == Names{"f1"});
    CHECK_THROWS_WITH_AS(ReplyMetrics("f1,hits@1"), doctest::Contains("'hits@1'"), Error);
    CHECK_THROWS_AS(ReplyMetrics(""), Error);
    CHECK(train::needs_replies("accuracy"));
    CHECK_FALSE(train::needs_replies("token_em"));
}

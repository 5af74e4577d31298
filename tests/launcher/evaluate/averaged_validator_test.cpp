// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/averaged_validator.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "launcher/rank/data_sets.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

TEST_CASE("reports of several data sets are averaged as ParlAI aggregates those of tasks") {
    std::ifstream file("tests/launcher/golden/averages.json");
    for (const auto& wanted : nlohmann::json::parse(file)) {
        std::vector<std::string> names;
        std::vector<train::ValidationReport> reports;
        for (const auto& [name, metrics] : wanted.at("reports").items()) {
            names.push_back(name);
            metrics.get_to(reports.emplace_back().metrics);
        }
        for (const auto& [word, how] :
             {std::pair("macro", Average::macro), std::pair("micro", Average::micro)}) {
            CAPTURE(word);
            const auto metrics = average(names, reports, how).metrics;
            CHECK(metrics.size() == wanted.at(word).size());
            for (const auto& [name, value] : wanted.at(word).items()) {
                CAPTURE(name);
                CHECK(metrics.at(name) == doctest::Approx(value.get<double>()).epsilon(1e-9));
            }
        }
    }
}

TEST_CASE("a metric that only some data sets have is averaged over those") {
    std::vector<train::ValidationReport> reports(2);
    reports[0].metrics = {{"loss", 1}, {"tokens", 10}, {"examples", 2}, {"f1", 0.5}};
    reports[1].metrics = {{"loss", 3}, {"tokens", 30}, {"examples", 2}};
    const auto metrics = average({"a", "b"}, reports, Average::macro).metrics;
    CHECK(metrics.at("f1") == 0.5);
    CHECK_FALSE(metrics.contains("b/f1"));
    CHECK(metrics.at("loss") == 2);
}

TEST_CASE("data sets are named by their folders, each differently") {
    using Names = std::vector<std::string>;
    CHECK(names_of_sets({"/x/chat", "/y/facts/"}) == Names{"chat", "facts"});
    CHECK(names_of_sets({"/x/data", "/y/data", "/z/data"}) == Names{"data", "data_2", "data_3"});
    CHECK(names_of_sets({"/x/data_2", "/y/data", "/z/data"}) == Names{"data_2", "data", "data_3"});
    CHECK(names_of_sets({"/x/chat/."}) == Names{"chat"});
}

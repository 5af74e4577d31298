// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/loss_scale.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace lockstep::kernels;

TEST_CASE("the loss scale follows ParlAI's DynamicLossScaler, with its own defaults") {
    std::ifstream in("tests/golden/training/loss_scale.json");
    const auto golden = nlohmann::json::parse(in);
    REQUIRE(golden.size() == 3);
    for (const auto& run : golden) {
        LossScaling rule{LossScaling::Kind::dynamic, run.at("first").get<float>()};
        if (run.contains("window")) rule.window = run.at("window").get<std::int64_t>();
        LossScale scale{rule.first};
        std::vector<std::int64_t> steps;
        std::vector<float> values;
        std::size_t next_overflow = 0;
        const auto overflows = run.at("overflows").get<std::vector<std::int64_t>>();
        for (std::int64_t step = 0; step < run.at("steps").get<std::int64_t>(); ++step) {
            const bool overflow =
                next_overflow < overflows.size() && overflows[next_overflow] == step;
            if (overflow) ++next_overflow;
            const float before = scale.value;
            scale = next(scale, rule, overflow ? Overflow::yes : Overflow::no);
            if (scale.value == before) continue;
            steps.push_back(step);
            values.push_back(scale.value);
        }
        CHECK(steps == run.at("changed").get<std::vector<std::int64_t>>());
        CHECK(values == run.at("scales").get<std::vector<float>>());
    }
}

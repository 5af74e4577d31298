// SPDX-License-Identifier: Apache-2.0
// Plans with the levels of what backward calculates again.
#include <doctest/doctest.h>

#include "launcher/options/run_command.hpp"
#include "launcher/plan/recompute_levels.hpp"
#include "launcher/plan/report.hpp"
#include "launcher/plan/report_json.hpp"
#include "launcher/plan/run_plan.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using model::Recompute;
using model::RecomputePlan;
using plan::plan_run;
using plan::RunPlan;
using Words = std::vector<std::string>;

namespace {

RunConfig config_of(const Words& more) {
    Words words{
        "-m",        "gpt2", "--vocabulary", "1000", "--embedding-size", "64",  "--n-layers", "6",
        "-bs",       "16",   "-tr",          "128",  "--n-positions",    "128", "--ffn-size", "256",
        "--n-heads", "2",    "--precision",  "bf16", "--device",         "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return *parse_run(Task::plan, "", words);
}

RunPlan planned(const std::string& level, std::int64_t memory = std::int64_t{1} << 40) {
    RunConfig config = config_of({"--recompute", level});
    config.memory_bytes = memory;
    return plan_run(config);
}

}  // namespace

TEST_CASE("auto takes the first level that fits, and its plan is that level's own") {
    const auto total = [](const std::string& level) { return planned(level).total_bytes(); };
    CHECK(total("layer") < total("layer:4"));
    CHECK(total("layer:4") < total("layer:3"));
    CHECK(total("layer:3") < total("none"));
    CHECK(total("layer") < total("ffn"));
    CHECK(total("ffn") < total("none"));
    for (const std::string level : {"none", "ffn", "layer:5", "layer"}) {
        CAPTURE(level);
        const RunPlan given = planned(level), chosen = planned("auto", given.total_bytes());
        CHECK(model::name(chosen.recompute) == level);
        CHECK(chosen.fits());
        CHECK(chosen.total_bytes() == given.total_bytes());
        CHECK(chosen.batch.activations == given.batch.activations);
        if (level != "layer")
            CHECK(model::name(planned("auto", given.total_bytes() - 1).recompute) != level);
    }
    const RunPlan too_small = planned("auto", total("layer") - 1);
    CHECK(model::name(too_small.recompute) == "layer");
    CHECK_FALSE(too_small.fits());
}

TEST_CASE("auto asks for no more plans than it needs, and finds the smallest number of layers") {
    for (std::int64_t layers = 1; layers <= 40; ++layers)
        for (std::int64_t enough = 1; enough <= layers; ++enough) {
            int asked = 0;
            const auto bytes = [&](const RecomputePlan& tried) {
                ++asked;
                const bool fits = tried.level == Recompute::layer && tried.layers >= enough;
                return std::int64_t{fits ? 1 : 2};
            };
            const RecomputePlan found = plan::least_that_fits(layers, bytes, 1);
            CHECK(found == (enough == layers ? RecomputePlan{Recompute::layer}
                                             : RecomputePlan{Recompute::layer, enough}));
            CHECK(asked <= 9);
        }
}

TEST_CASE("where no level fits, the one that takes the least is taken") {
    const auto found = [](std::int64_t none, std::int64_t ffn, std::int64_t layer) {
        return plan::least_that_fits(
            4,
            [&](const RecomputePlan& tried) {
                if (tried.level == Recompute::nothing) return none;
                return tried.level == Recompute::ffn ? ffn : layer;
            },
            1);
    };
    CHECK(found(4, 3, 2) == RecomputePlan{Recompute::layer});
    CHECK(found(4, 2, 3) == RecomputePlan{Recompute::ffn});
    CHECK(found(2, 3, 4) == RecomputePlan{});
    CHECK(found(2, 2, 2) == RecomputePlan{});  // an evaluation takes the most
}

TEST_CASE("a plan compares the levels, and names one that fits") {
    const RunPlan layer = planned("layer");
    REQUIRE(layer.levels.size() == 3);
    CHECK(planned("layer:2").levels.size() == 4);
    for (const plan::LevelMemory& level : planned("layer:2").levels) {
        const RunPlan own = planned(model::name(level.plan));
        CHECK(level.total == own.total_bytes());
        CHECK(level.activations == own.batch.activations);
    }
    const RunPlan none = planned("none", layer.total_bytes());
    const std::string text = plan::report_text(none);
    CHECK(text.find("--recompute") != std::string::npos);
    CHECK(text.find("does not fit, planned here") != std::string::npos);
    CHECK(text.find("take --recompute layer; or take --batchsize") != std::string::npos);
    const std::string json = plan::report_json(none);
    CHECK(json.find("\"recompute\": \"none\"") != std::string::npos);
    CHECK(json.find("\"levels\"") != std::string::npos);
}

TEST_CASE(
    "with auto the largest batch that fits is the one that fits by calculating layers again") {
    const std::int64_t memory = planned("none").total_bytes();
    CHECK(planned("auto", memory).size.fits == planned("layer", memory).size.fits);
    CHECK(planned("layer", memory).size.fits > planned("none", memory).size.fits);
}

TEST_CASE("more layers than the model has are refused with the nearest number") {
    CHECK_THROWS_WITH_AS(planned("layer:99"),
                         "--recompute layer:99: the model has 6 layers; give layer:6, or layer for "
                         "all of them",
                         Error);
    CHECK_NOTHROW(planned("layer:6"));
}

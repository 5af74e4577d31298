// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "launcher/plan/fitting_command.hpp"
#include "launcher/plan/run_plan.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using model::Recompute;
using model::RecomputePlan;
using plan::added_time;
using plan::fastest_that_fits;
using plan::RunPlan;
using plan::Savings;
using train::Moments;
using train::Saving;
using Words = std::vector<std::string>;

namespace {

// The bytes of a run whose layers keep 10 units each: 4 of them with ffn are gone, with layer 9.
// Moments take 80 or 20 units, and as many again where checkpoints are written beside training.
std::int64_t units(const Savings& savings, std::int64_t layers) {
    const std::int64_t copies = savings.saving == Saving::beside_training ? 2 : 1;
    const std::int64_t moments = copies * (savings.moments == Moments::int8 ? 20 : 80);
    const std::int64_t planned = std::min(savings.recompute.layers, layers);
    if (savings.recompute.level == Recompute::ffn) return moments + 6 * layers;
    if (savings.recompute.level == Recompute::layer) return moments + 10 * layers - 9 * planned;
    return moments + 10 * layers;
}

Words words_of(const Words& more) {
    Words words{"-m",
                "gpt2",
                "--vocabulary",
                "1000",
                "--embedding-size",
                "64",
                "--n-layers",
                "6",
                "-bs",
                "16",
                "-tr",
                "128",
                "--n-positions",
                "128",
                "--ffn-size",
                "256",
                "--n-heads",
                "2",
                "--precision",
                "bf16",
                "--device",
                "cpu",
                "-opt",
                "adam"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

RunPlan planned(const Words& more) {
    return plan::plan_run(*parse_run(Task::plan, "", words_of(more)));
}

}  // namespace

TEST_CASE("the choice is the fastest of all that fit, and the smallest where none does") {
    constexpr std::int64_t layers = 6;
    const plan::FitChoices choices{{Moments::fp32, Moments::int8},
                                   std::nullopt,
                                   layers,
                                   {Saving::beside_training, Saving::training_waits}};
    std::vector<RecomputePlan> plans{{}, {Recompute::ffn}};
    for (std::int64_t n = 1; n <= layers; ++n) plans.push_back({Recompute::layer, n});
    std::vector<Savings> all;
    for (const Moments moments : choices.moments)
        for (const Saving saving : choices.saving)
            for (const RecomputePlan& one : plans) all.push_back({moments, one, saving});
    for (std::int64_t memory = 20; memory < 240; ++memory) {
        CAPTURE(memory);
        const auto fits = [&](const Savings& one) { return units(one, layers) <= memory; };
        const Savings chosen = fastest_that_fits(choices, fits);
        bool any = false;
        for (const Savings& one : all) {
            any = any || fits(one);
            if (fits(one)) CHECK(added_time(chosen, layers) <= added_time(one, layers) + 1e-12);
        }
        CHECK(fits(chosen) == any);
        if (!any)
            CHECK(chosen == Savings{Moments::int8, {Recompute::layer}, Saving::training_waits});
    }
}

TEST_CASE("what the user gives is kept") {
    const auto never = [](const Savings&) { return false; };
    const plan::FitChoices choices{{Moments::fp32}, RecomputePlan{Recompute::ffn}, 6};
    CHECK(fastest_that_fits(choices, never) == Savings{Moments::fp32, {Recompute::ffn}});
}

TEST_CASE("repeated products are counted in parts of all of a layer's products") {
    CHECK(added_time({}, 12) == 0);
    CHECK(added_time({Moments::fp32, {Recompute::ffn}}, 12) == doctest::Approx(8.0 / 72));
    CHECK(added_time({Moments::fp32, {Recompute::layer}}, 12) == doctest::Approx(16.0 / 72));
    CHECK(added_time({Moments::fp32, {Recompute::layer, 3}}, 12) == doctest::Approx(4.0 / 72));
    CHECK(added_time({Moments::int8, {}}, 12) == doctest::Approx(0.03));
    CHECK(added_time({Moments::fp32, {}, Saving::training_waits}, 12) == doctest::Approx(0.01));
}

TEST_CASE("--fit auto chooses among moments and levels, and its plan is that of its command") {
    const RunPlan none = planned({"--memory", "1TiB", "--fit", "auto"});
    CHECK(none.fitted);
    CHECK(none.moments == Moments::fp32);
    CHECK(none.recompute == RecomputePlan{});
    for (const std::string memory : {"1TiB", "150MiB", "140MiB", "130MiB"}) {
        CAPTURE(memory);
        const RunPlan fitted = planned({"--memory", memory, "--fit", "auto"});
        const bool waits = fitted.saving == Saving::training_waits;
        const RunPlan typed =
            planned({"--memory", memory, "--moments", train::name(fitted.moments), "--recompute",
                     model::name(fitted.recompute), "--async-save", waits ? "false" : "true"});
        CHECK(fitted.total_bytes() == typed.total_bytes());
        CHECK(fitted.host_bytes == typed.host_bytes);
        CHECK(fitted.fits() == typed.fits());
    }
    const RunPlan kept = planned({"--memory", "1MiB", "--fit", "auto", "--moments", "fp32"});
    CHECK(kept.moments == Moments::fp32);
    CHECK(kept.recompute == RecomputePlan{Recompute::layer});
    CHECK(kept.saving == Saving::training_waits);
    CHECK_FALSE(kept.fits());
    CHECK(planned({"--memory", "1MiB", "--fit", "auto", "-opt", "sgd"}).moments == Moments::fp32);
}

TEST_CASE("the command has the options of the plan, without what only plans have") {
    const auto command_of = [](const Words& words, const RunPlan& plan) {
        return plan::fitting_command(parse_run(Task::plan, "", words)->lines, plan);
    };
    RunPlan plan;
    plan.moments = Moments::int8;
    plan.recompute = {Recompute::layer, 3};
    const Words words{"--world-size",
                      "2",
                      "-memory=3GiB",
                      "--vocabulary",
                      "9",
                      "-fit",
                      "auto",
                      "-bs",
                      "4",
                      "--json",
                      "true",
                      "--fp16",
                      "--recompute",
                      "auto",
                      "--max_train_steps",
                      "-1"};
    CHECK(command_of(words, plan) ==
          "lockstep train --data DATA --model-file MODEL --batchsize 4 --distributed-world-size 2"
          " --fp16 true"
          " --max-train-steps -1 --moments int8 --recompute layer:3");
    plan.saving = Saving::training_waits;
    const std::string small = "lockstep train --data DATA --model-file MODEL --batchsize 4";
    CHECK(command_of({"--vocabulary", "9", "-bs", "4"}, plan) ==
          small + " --moments int8 --async-save false --recompute layer:3");
    CHECK(command_of({"--vocabulary", "9", "-bs", "4", "--async_save=no"}, plan) ==
          "lockstep train --data DATA --model-file MODEL --async-save no --batchsize 4 --moments "
          "int8 --recompute layer:3");
    plan = {};
    plan.ranks = 2;
    CHECK(command_of({"--vocabulary=9", "--fit=auto", "-bs", "4"}, plan) ==
          "multiprocessing_train --data DATA --model-file MODEL --batchsize 4");
    const std::string folders = "multiprocessing_train --batchsize 4 --data a b --model-file m";
    CHECK(command_of({"-bs", "4", "--data", "a", "b", "-mf", "m"}, plan) ==
          folders);  // nothing stands for folders that are given
}

TEST_CASE("what --fit auto had to choose from is named") {
    CHECK(plan::name({{Moments::fp32, Moments::int8},
                      std::nullopt,
                      1,
                      {Saving::beside_training, Saving::training_waits}}) ==
          "--moments fp32 or int8, --recompute none, ffn, layer:N or layer, "
          "--async-save true or false");
    CHECK(plan::name({{Moments::fp32}, RecomputePlan{}}) == "no other option");
}

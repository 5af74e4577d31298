// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fit.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
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

// Returns the parts that are calculated again of the 72 that are the products of a layer.
double parts_again(const RecomputePlan& plan, std::int64_t layers) {
    const double parts = plan.level == Recompute::layer ? 16 : plan.level == Recompute::ffn ? 8 : 0;
    const double share = static_cast<double>(std::min(plan.layers, layers));
    return parts / 72 * share / static_cast<double>(layers);
}

plan::FitChoices choices_of(std::vector<Moments> moments, std::optional<RecomputePlan> recompute,
                            std::int64_t layers) {
    plan::FitChoices choices;
    choices.moments = std::move(moments);
    choices.recompute = recompute;
    choices.layers = layers;
    choices.calculated_again = [layers](const RecomputePlan& plan) {
        return parts_again(plan, layers);
    };
    return choices;
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
    plan::FitChoices choices = choices_of({Moments::fp32, Moments::int8}, std::nullopt, layers);
    choices.saving = {Saving::beside_training, Saving::training_waits};
    std::vector<RecomputePlan> plans{{}, {Recompute::ffn}};
    for (std::int64_t n = 1; n <= layers; ++n) plans.push_back({Recompute::layer, n});
    std::vector<Savings> all;
    for (const Moments moments : choices.moments)
        for (const Saving saving : choices.saving)
            for (const RecomputePlan& one : plans) all.push_back({moments, one, saving});
    for (std::int64_t memory = 20; memory < 240; ++memory) {
        CAPTURE(memory);
        const auto bytes = [&](const Savings& one) { return units(one, layers); };
        const auto fits = [&](const Savings& one) { return bytes(one) <= memory; };
        const Savings chosen = fastest_that_fits(choices, bytes, memory);
        bool any = false;
        for (const Savings& one : all) {
            any = any || fits(one);
            if (fits(one)) CHECK(added_time(chosen, choices) <= added_time(one, choices) + 1e-12);
        }
        CHECK(fits(chosen) == any);
        if (!any)
            CHECK(chosen == Savings{Moments::int8, {Recompute::layer}, Saving::training_waits});
    }
}

TEST_CASE("what the user gives is kept") {
    const auto too_much = [](const Savings&) { return 2; };
    const auto choices = choices_of({Moments::fp32}, RecomputePlan{Recompute::ffn}, 6);
    CHECK(fastest_that_fits(choices, too_much, 1) == Savings{Moments::fp32, {Recompute::ffn}});
}

// A small model may need more memory at stages 2 and 3 than at stage 1.
TEST_CASE("if nothing fits, the choice takes the least memory, whatever it is") {
    plan::FitChoices choices = choices_of({Moments::fp32, Moments::int8}, std::nullopt, 6);
    choices.stages = {0, 1, 2, 3};
    const auto bytes = [](const Savings& one) { return one.stage == 1 ? 10 : 20 + one.stage; };
    CHECK(fastest_that_fits(choices, bytes, 9).stage == 1);
    // With few tokens, what forward keeps may lie in gradients, and what is calculated again not.
    const auto kept = [](const Savings& one) { return one.recompute == RecomputePlan{} ? 10 : 20; };
    CHECK(fastest_that_fits(choices, kept, 9).recompute == RecomputePlan{});
}

TEST_CASE(
    "the optimizer is offloaded only if nothing else fits, and then its moments are in fp32") {
    plan::FitChoices choices = choices_of({Moments::fp32, Moments::int8}, std::nullopt, 6);
    choices.stages = {0, 1, 2, 3};
    choices.offload = {train::Offload::none, train::Offload::optimizer};
    const auto fits_if = [&](const auto& condition) {
        const auto bytes = [&](const Savings& one) { return condition(one) ? 1 : 2; };
        return fastest_that_fits(choices, bytes, 1);
    };
    const auto offloaded = [](const Savings& one) {
        return one.offload == train::Offload::optimizer;
    };
    const Savings smallest = fits_if([&](const Savings& one) {
        return offloaded(one) ||
               (one.moments == Moments::int8 && one.stage == 3 &&
                one.recompute.level == Recompute::layer && one.recompute.layers >= 6);
    });
    CHECK_FALSE(offloaded(smallest));
    const Savings last = fits_if(offloaded);
    CHECK(last ==
          Savings{Moments::fp32, {}, Saving::beside_training, 0, train::Offload::optimizer});
    const auto least = [&](const Savings& one) { return offloaded(one) ? 3 : 4; };
    const Savings none = fastest_that_fits(choices, least, 2);
    CHECK(offloaded(none));
    CHECK(none.moments == Moments::fp32);
    CHECK(added_time(last, choices) == doctest::Approx(0.5));
    CHECK(plan::name(choices).find("--offload none or optimizer") != std::string::npos);
}

TEST_CASE("--fit auto offloads on a GPU as the last resort, and its plan is that of its command") {
    const Words gpu{"--device",   "cuda", "--embedding-size", "512",
                    "--ffn-size", "2048", "--n-heads",        "8",
                    "-bs",        "1"};
    const auto on_gpu = [&](Words more) {
        more.insert(more.begin(), gpu.begin(), gpu.end());
        return planned(more);
    };
    const RunPlan kept = on_gpu({"--memory", "1TiB", "--fit", "auto"});
    CHECK(kept.offload == train::Offload::none);
    CHECK(kept.pinned_bytes == 0);
    const RunPlan given = on_gpu({"--memory", "1TiB", "--offload", "optimizer"});
    const auto parameters = static_cast<std::int64_t>(given.parameters);
    CHECK(given.total_bytes() < kept.total_bytes() - 11 * parameters);
    CHECK(given.pinned_bytes > 12 * parameters);
    const std::string enough = std::to_string((given.total_bytes() >> 20) + 1) + "MiB";
    const RunPlan fitted = on_gpu({"--memory", enough, "--fit", "auto", "--recompute", "none"});
    CHECK(fitted.offload == train::Offload::optimizer);
    CHECK(fitted.moments == Moments::fp32);
    CHECK(fitted.fits());
    CHECK(fitted.total_bytes() == given.total_bytes());
    const RunPlan refused =
        on_gpu({"--memory", enough, "--fit", "auto", "--offload", "none", "--recompute", "none"});
    CHECK(refused.offload == train::Offload::none);
    CHECK_FALSE(refused.fits());
    CHECK(on_gpu({"--memory", "1MiB", "--fit", "auto", "-opt", "adafactor"}).offload ==
          train::Offload::none);
}

TEST_CASE("--fit auto may change what a checkpoint stores and nobody has typed") {
    const auto stored = [](Words more, const char* option) {
        const Words run{"--device", "cuda", "--fit", "auto", "--recompute", "none"};
        more.insert(more.begin(), run.begin(), run.end());
        auto config = *parse_run(Task::plan, "", words_of(more));
        config.given.erase(option);
        return plan::plan_run(config);
    };
    const RunPlan room = stored({"--memory", "1TiB", "--offload", "optimizer"}, "offload");
    CHECK(room.offload == train::Offload::none);
    CHECK(room.total_bytes() == planned({"--device", "cuda", "--memory", "1TiB"}).total_bytes());
    const RunPlan tight = stored({"--memory", "1MiB", "--moments", "int8"}, "moments");
    CHECK(tight.tried.find("--offload none or optimizer") != std::string::npos);
    CHECK(tight.tried.find("--moments fp32 or int8") != std::string::npos);
}

TEST_CASE("a size may have a space before its unit") {
    CHECK(planned({"--memory", "2 GiB"}).device.bytes == std::int64_t{2} << 30);
    CHECK_THROWS_WITH_AS(planned({"--memory", "2 parsecs"}), doctest::Contains("such as 80GiB"),
                         Error);
}

TEST_CASE("--fit auto lets ranks share if it is given how many of them do") {
    const RunPlan plan = planned({"--distributed-world-size", "4", "--zero-ranks", "2", "--memory",
                                  "1TiB", "--fit", "auto"});
    CHECK(plan.stage == 1);
    CHECK(plan.tried.find("--zero 1 to 3") != std::string::npos);
}

TEST_CASE("the added time is that of what is calculated again and of all else") {
    const auto choices = choices_of({Moments::fp32}, std::nullopt, 12);
    const auto added = [&](const Savings& savings) { return added_time(savings, choices); };
    CHECK(added({}) == 0);
    CHECK(added({Moments::fp32, {Recompute::layer, 3}}) == doctest::Approx(4.0 / 72));
    CHECK(added({Moments::int8, {}}) == doctest::Approx(0.03));
    CHECK(added({Moments::fp32, {}, Saving::training_waits}) == doctest::Approx(0.01));
    CHECK(added({Moments::int8, {Recompute::ffn}}) == doctest::Approx(0.03 + 8.0 / 72));
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
          small + " --moments int8 --async-save false --recompute layer:3 --num-epochs N");
    CHECK(command_of({"--vocabulary", "9", "-bs", "4", "--async_save=no"}, plan) ==
          small + " --moments int8 --async-save false --recompute layer:3 --num-epochs N");
    plan = {};
    plan.ranks = 2;
    CHECK(command_of({"--vocabulary=9", "--fit=auto", "-bs", "4"}, plan) ==
          "multiprocessing_train --data DATA --model-file MODEL --batchsize 4 --num-epochs N");
    plan.ranks = 8;
    CHECK(command_of({"-N", "2", "--gpus-per-node", "4", "-bs", "4"}, plan) ==
          "lockstep submit --nodes 2 --gpus-per-node 4 -- distributed_train --data DATA "
          "--model-file MODEL --batchsize 4 --num-epochs N");
    CHECK(command_of({"-N", "2", "--world-size", "8"}, plan) ==
          "lockstep submit --nodes 2 --ntasks-per-node 4 -- distributed_train --data DATA "
          "--model-file MODEL --num-epochs N");
    CHECK(command_of({"--gpus-per-node", "8"}, plan) ==
          "multiprocessing_train --distributed-world-size 8 --data DATA --model-file MODEL "
          "--num-epochs N");
    plan.ranks = 2;
    // What the words say otherwise, as those of a checkpoint may, is written though it is usual.
    CHECK(command_of({"--vocabulary=9", "--ddp-backend=zero3", "--moments=int8", "-eps", "1"},
                     plan) ==
          "multiprocessing_train --data DATA --model-file MODEL --num-epochs 1 --moments fp32 "
          "--zero 0");
    const std::string folders =
        "multiprocessing_train --batchsize 4 --data a b --model-file m --num-epochs N";
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

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "launcher/options/optimizer_readers.hpp"
#include "launcher/options/run_command.hpp"
#include "tests/launcher/options/train_words.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::launcher::train_words;

TEST_CASE("lion has betas of its own, unless they are given before or after its name") {
    const auto betas = [](const Words& words) {
        const RunConfig config = train_config(words);
        return option_values(Task::train, config).at("betas");
    };
    CHECK(betas({"-opt", "lion"}) == "0.9,0.99");
    CHECK(betas({"-opt", "adamw"}) == "0.9,0.999");
    CHECK(betas({"--betas", "0.8,0.95", "-opt", "lion"}) == "0.8,0.95");
    CHECK(betas({"-opt", "lion", "--betas", "0.95"}) == "0.95,0.99");
}

TEST_CASE("adafactor's options: ParlAI's defaults, fairseq's with a relative step") {
    const auto optimizer_of = [](const Words& more) { return train_config(more).train.optimizer; };
    CHECK_FALSE(optimizer_of({"-opt", "adafactor"}).adafactor_scale_parameter);
    const Words relative{"-opt", "adafactor", "--adafactor-relative-step"};
    CHECK(optimizer_of(relative).adafactor_scale_parameter);
    CHECK_FALSE(optimizer_of({"-opt", "adafactor", "--adafactor-relative-step",
                              "--adafactor-scale-parameter", "false"})
                    .adafactor_scale_parameter);
    CHECK(optimizer_of({"-opt", "adafactor", "--adafactor-eps", "1e-20,0.01"}).adafactor_eps1 ==
          1e-20);
    CHECK(optimizer_of({"-opt", "adafactor", "--adafactor-eps", "1e-20,0.01"}).adafactor_eps2 ==
          0.01);
    for (const char* wrong : {"1e-3", "0,1e-3", "1e-30,-1", "1e-30,x"}) {
        CAPTURE(wrong);
        CHECK(refusal({"--adafactor-eps", wrong}).find("--adafactor-eps: '") == 0);
    }
    CHECK(refusal({"--adafactor-relative-step"}).find("needs --optimizer adafactor") !=
          std::string::npos);
    for (const Words& unused :
         {Words{"-lr", "1"}, Words{"--lr-scheduler", "invsqrt"}, Words{"--warmup-updates", "5"}}) {
        Words words = relative;
        words.insert(words.end(), unused.begin(), unused.end());
        CHECK(refusal(words).find("--adafactor-relative-step contradicts") == 0);
    }
}

TEST_CASE("an optimizer refuses the options that others read, and names those") {
    using train::OptimizerKind;
    // Every optimizer has a row.
    std::string kinds;
    for (int i = 0; i < static_cast<int>(OptimizerKind::muon); ++i)
        kinds += (i > 0 ? ", " : "") + std::string(name(OptimizerKind{i}));
    CHECK(optimizers_text([](OptimizerKind) { return true; }, "or") == kinds + " or muon");
    const auto told = [](const char* optimizer, const Words& more) {
        Words words{"-opt", optimizer};
        words.insert(words.end(), more.begin(), more.end());
        return refusal(words);
    };
    const std::string effect = " has no effect: it is for --optimizer ";
    CHECK(told("sgd", {"--betas", "0.8,0.95"})
              .starts_with("--betas" + effect + "adam, adamw, adafactor, lion or muon"));
    CHECK(told("lion", {"--adam-eps", "1e-3"})
              .starts_with("--adam-eps" + effect + "adam, adamw or muon"));
    CHECK(told("lion", {"--amsgrad", "true"}).starts_with("--amsgrad" + effect + "adam or adamw"));
    CHECK(told("adam", {"--momentum", "0.9"}).starts_with("--momentum" + effect + "sgd,"));
    CHECK(
        told("adam", {"--muon-momentum", "0.9"}).starts_with("--muon-momentum" + effect + "muon,"));
    CHECK(told("sgd", {"--adafactor-eps", "1e-3,1e-3"})
              .starts_with("--adafactor-eps" + effect + "adafactor,"));
    CHECK(told("sgd", {"--moments", "int8"})
              .starts_with("--moments int8 is for --optimizer adam and adamw;"));
    CHECK(told("adafactor", {"--offload", "optimizer"})
              .ends_with("give --optimizer sgd, adam, adamw or lion, or leave it out"));
    CHECK(told("muon", {"--nesterov", "false"}) == "accepted");
    CHECK(told("lion", {"--betas", "0.8,0.95"}) == "accepted");
}

TEST_CASE("muon is refused where it does not reach") {
    const auto of = [](Words more) {
        more.insert(more.end(), {"-opt", "muon"});
        return refusal(more);
    };
    CHECK(of({"--device", "cpu", "--zero", "1", "--nesterov", "false"}) == "accepted");
    CHECK(of({"--device", "cuda"}) ==
          "--optimizer muon: only CPUs update with it; give --device cpu, or --optimizer adamw");
    CHECK(of({"--lora-r", "2"}).starts_with("--optimizer muon: it is not for adapters; give"));
    CHECK(of({"--zero", "2"}) ==
          "--zero 2: muon updates whole matrices, whose gradients are then gone; give --zero 1 or "
          "another --optimizer");
    CHECK(of({"--tensor", "2"}).starts_with("--tensor 2: muon updates whole matrices, which no"));
    CHECK(of({"--offload", "optimizer"})
              .starts_with("--offload optimizer: the host does not update with muon; give"));
    CHECK(of({"--moments", "int8"}).starts_with("--moments int8 is for --optimizer adam and"));
    CHECK(of({"--amsgrad", "true"}).starts_with("--amsgrad has no effect: it is for"));
}

TEST_CASE("a state on a disk is for CPUs, and for what is offloaded") {
    const auto of = [](Words more) {
        more.insert(more.end(), {"--offload-dir", "DISK"});
        return refusal(more);
    };
    CHECK(of({"--offload", "optimizer", "--device", "cpu"}) == "accepted");
    CHECK(of({"--device", "cpu"}) ==
          "--offload-dir: nothing is offloaded there; add --offload optimizer, or leave "
          "--offload-dir out");
    CHECK(of({"--offload", "optimizer", "--device", "cuda"}) ==
          "--offload optimizer: --offload-dir is for CPUs; leave it out, or give --device cpu");
    CHECK(refusal({"--offload", "optimizer", "--device", "cpu"})
              .ends_with("give --offload none, or --offload-dir DIR"));
}

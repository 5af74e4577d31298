// SPDX-License-Identifier: Apache-2.0
// The whole program with --offload optimizer, on an emulated GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/launcher/programs/emulated_gpu_run.hpp"
#include "tests/launcher/programs/metrics_file.hpp"

using namespace lockstep::tests;

TEST_CASE(
    "a GPU's run whose optimizer is offloaded writes the same checkpoints, and continues both "
    "ways") {
    const EmulatedGpuRuns prepared;
    const auto tensors = [&](const std::string& name) {
        const std::string folder = prepared.model(name) + "/checkpoints/step-00000004/";
        return read_text(folder + "model.safetensors") +
               read_text(folder + "part-00000.safetensors");
    };
    const std::string offload = "--offload optimizer ";
    for (const std::string optimizer : {"adamw --weight-decay 0.01", "lion"}) {
        const std::string tag = optimizer.substr(0, 4);
        const std::string steps = "--device cuda --optimizer " + optimizer + " --max-train-steps ";
        prepared.train("kept" + tag, steps + "4 ");
        prepared.train("moved" + tag, steps + "4 " + offload);
        CHECK(tensors("moved" + tag) == tensors("kept" + tag));
        CHECK(losses(prepared.model("moved" + tag)) == losses(prepared.model("kept" + tag)));
        const auto in_use = [&](const std::string& name) {
            const auto report =
                nlohmann::json::parse(read_text(prepared.model(name) + "/report.json"));
            return report["memory"]["gpu_bytes"][0].get<std::int64_t>();
        };
        CHECK(in_use("moved" + tag) > 0);
        CHECK(in_use("moved" + tag) < in_use("kept" + tag));
        prepared.train("up" + tag, steps + "2 ");
        prepared.train("up" + tag, steps + "4 " + offload);
        prepared.train("down" + tag, steps + "2 " + offload);
        prepared.train("down" + tag, steps + "4 --offload none");
        CHECK(tensors("up" + tag) == tensors("kept" + tag));
        CHECK(tensors("down" + tag) == tensors("kept" + tag));
    }
}

TEST_CASE("--offload is refused in one line where the host cannot update") {
    const EmulatedGpuRuns prepared;
    const auto refused = [&](const std::string& program, const std::string& more,
                             const std::string& why) {
        CAPTURE(more);
        const auto run =
            run_line(program + " --data " + prepared.data + " -mf " + prepared.model("new") +
                     " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 "
                     "-bs 2 -tr 16 --max-train-steps 1 --offload optimizer " +
                     more);
        INFO(run.err);
        CHECK(run.code == 2);
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        CHECK(contains(run.err, why));
        CHECK_FALSE(std::filesystem::exists(prepared.model("new")));
    };
    for (const std::string program : {"train", "plan"}) {
        const std::string gpu = "lockstep_emulated_gpu " + program;
        refused(gpu, "--device cpu",
                "is for GPUs, and this computes on the CPU; give --offload none");
        refused(gpu, "-opt adafactor", "does not update with adafactor");
        refused(gpu, "-opt adam --moments int8", "moments that are offloaded are in fp32");
        refused(gpu, "--fp16 true --fp16-impl mem_efficient", "keeps no fp32 weights");
        refused("lockstep " + program, "", "--offload optimizer is for GPUs");
    }
}

TEST_CASE("a run that cannot pin the optimizer ends, says what to do, and goes on without it") {
    const EmulatedGpuRuns prepared;
    const auto train = [&](const std::string& more) {
        return run_line("lockstep_emulated_gpu train --data " + prepared.data + " -mf " +
                            prepared.model("small") +
                            " --embedding-size 64 --n-layers 1 --ffn-size 64 --n-heads 2 "
                            "-bs 2 -tr 16 --threads 1 --max-train-steps 1 " +
                            more,
                        {"", {{"LOCKSTEP_EMULATED_PINNED_BYTES", "131072"}}, ""});
    };
    const auto run = train("--offload optimizer");
    INFO(run.out << run.err);
    CHECK(run.code == 1);
    CHECK(contains(run.out + run.err,
                   "MiB more of its memory: end other programs, or leave "
                   "--offload out if it is given"));
    const auto without = train("--offload none");
    INFO(without.out << without.err);
    CHECK(without.code == 0);
}

// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/compute_device.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "launcher/options/run_command.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"
#include "tests/launcher/rank/local_rank.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using tests::ScratchFolder;
using tests::write_text;

namespace {

RunConfig config_of(const std::string& more) {
    std::vector<std::string> words{"--data", "d", "-mf", "m", "--num-epochs", "1"};
    for (std::size_t at = 0; at < more.size();) {
        const std::size_t end = std::min(more.find(' ', at), more.size());
        words.push_back(more.substr(at, end - at));
        at = end + 1;
    }
    return *parse_run(Task::train, "", words);
}

Gpus seen(std::vector<device::GpuIdentity> visible, const std::string& absent) {
    Gpus gpus;
    gpus.visible = std::move(visible);
    gpus.absent = absent;
    return gpus;
}

const Gpus two =
    seen({{"GPU-a", "0000:17:00.0", "NVIDIA H200"}, {"GPU-b", "0000:18:00.0", "NVIDIA H200"}}, "");
const Gpus none = seen({}, "no driver");

// A host whose driver serves CUDA 12.2, with a build by 12.4 that is for its GPU.
Gpus sound() {
    Gpus gpus = seen({{"GPU-a", "0000:17:00.0", "NVIDIA H200", 0, 90}}, "");
    gpus.build = {12040, "80 90a-real"};
    gpus.driver = 12020;
    return gpus;
}

std::string refusal(const std::function<void()>& asked) {
    try {
        asked();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "accepted";
}

std::string refusal(const std::string& options, const comm::RankInfo& rank_info, const Gpus& gpus) {
    return refusal([&] { (void)choose_gpu(config_of(options), rank_info, gpus); });
}

}  // namespace

TEST_CASE("a GPU is taken where one is visible, by local rank, unless the CPU is asked for") {
    const auto gpu = choose_gpu(config_of(""), tests::local_rank(1, 2), two);
    REQUIRE(gpu.has_value());
    CHECK(gpu->number == 1);
    CHECK(gpu->identity.uuid == "GPU-b");
    CHECK_FALSE(choose_gpu(config_of(""), tests::local_rank(0, 2), none).has_value());
    CHECK_FALSE(choose_gpu(config_of("--device cpu"), tests::local_rank(0, 2), two).has_value());
    CHECK(choose_gpu(config_of("--device cuda"), tests::local_rank(0, 2), two)->number == 0);
    CHECK(choose_gpu(config_of("--allow-shared-gpu"), tests::local_rank(2, 3), two)->number == 0);
}

TEST_CASE("GPUs that are there and cannot compute are refused, not passed over for the CPU") {
    CHECK(choose_gpu(config_of(""), tests::local_rank(0, 1), sound()).has_value());
    Gpus old = sound();
    old.build = {13000, "80 90a-real 100-real"};
    old.visible.clear();  // as CUDA says then
    const std::string too_old = refusal("", tests::local_rank(0, 1), old);
    CHECK(too_old ==
          "the GPUs of node1 cannot compute: the NVIDIA driver serves CUDA 12.2 at most, and this "
          "program is built with CUDA 13.0: install driver 580 or newer, or take a build with CUDA "
          "12, or give --device cpu");
    CHECK(refusal("--device cuda", tests::local_rank(0, 1), old) == too_old);
    CHECK(refusal("--device cpu", tests::local_rank(0, 1), old) == "accepted");

    Gpus without_kernels = sound();
    without_kernels.build.targets = "90a-real 100-real";
    without_kernels.visible.push_back({"GPU-b", "0000:18:00.0", "NVIDIA A100", 0, 80});
    CHECK(tests::contains(
        refusal("", tests::local_rank(0, 1), without_kernels),
        "NVIDIA A100 has compute capability 8.0, and this program's kernels are for 9.0, "
        "10.0: build it with -DCMAKE_CUDA_ARCHITECTURES=80"));

    Gpus without_products = sound();
    without_products.products = "GPUs need libcublasLt.so.12";
    CHECK(tests::contains(refusal("", tests::local_rank(0, 1), without_products),
                          "GPUs need libcublasLt.so.12"));
}

TEST_CASE("a GPU that is not there, and what the CPU cannot do, are refused in one line") {
    const std::string asked = refusal("--device cuda", tests::local_rank(0, 1), none);
    CHECK(tests::contains(asked, "--device cuda on node1: no driver"));
    CHECK(tests::contains(asked, "--device cpu"));
    CHECK(tests::contains(refusal("", tests::local_rank(2, 3), two),
                          "2 GPUs are visible on node1 for 3 ranks"));
    CHECK(tests::contains(refusal("--precision fp16", tests::local_rank(0, 1), none),
                          "--precision bf16"));
    CHECK(tests::contains(refusal("--fp16 --device cpu", tests::local_rank(0, 1), two),
                          "fp16 is for GPUs"));
    for (const std::string option : {"tf32", "autotune", "allow-shared-gpu"})
        CHECK(
            tests::contains(refusal("--" + option, tests::local_rank(0, 1), none), "--" + option));
    CHECK(tests::contains(refusal("--cuda-graphs on", tests::local_rank(0, 1), none),
                          "--cuda-graphs on"));
    CHECK(tests::contains(refusal("--gpu-backend staged", tests::local_rank(0, 1), none),
                          "--gpu-backend is for GPUs"));
    CHECK(refusal("--cuda-graphs off", tests::local_rank(0, 1), none) == "accepted");
    CHECK(refusal("--tf32 --autotune --fp16", tests::local_rank(0, 1), two) == "accepted");
}

TEST_CASE(
    "a program for GPUs that sees none where one may be says that the CPU computes, and why") {
    const ScratchFolder root;
    const std::string device = root / "sys/bus/pci/devices/0000:17:00.0";
    const std::string why = "computing on the CPU of node1: no GPU is usable here (no driver)";
    Gpus blind = none;
    blind.build = {12040, "80"};
    CHECK(why_on_cpu(config_of(""), tests::local_rank(0, 1), blind, root / "").empty());
    std::filesystem::create_directories(device);
    write_text(device + "/vendor", "0x10de\n");
    write_text(device + "/class", "0x030200\n");
    CHECK(why_on_cpu(config_of(""), tests::local_rank(0, 1), blind, root / "") == why);
    blind.driver = 12020;  // it hides what it has
    CHECK(why_on_cpu(config_of(""), tests::local_rank(0, 1), blind, root / "none") == why);
    CHECK(why_on_cpu(config_of("--device cpu"), tests::local_rank(0, 1), blind).empty());
    CHECK(why_on_cpu(config_of(""), tests::local_rank(0, 1), none).empty());  // built without CUDA
    CHECK(why_on_cpu(config_of(""), tests::local_rank(0, 1), sound()).empty());
}

TEST_CASE("what has no effect on a GPU is told") {
    const auto idle = [](const std::string& options, int ranks) {
        const RunConfig config = config_of(options);
        ComputeDevice device;
        device.gpu = GpuAssignment{};
        device.precision = precision_of(config.precision, device.gpu);
        return idle_options(config, device, ranks);
    };
    CHECK(idle("--tf32 --precision fp32 --autotune", 1).empty());
    CHECK(idle("--gpu-backend staged", 2).empty());
    REQUIRE(idle("--tf32 --gpu-backend staged", 1).size() == 2);
    CHECK(tests::contains(idle("--tf32", 2).front(), "--tf32 has no effect: products are of bf16"));
    CHECK(tests::contains(idle("--gpu-backend nccl", 1).front(),
                          "--gpu-backend has no effect: one rank"));
}

TEST_CASE("products are of the GPU's library where it computes") {
    Gpus gpus = sound();
    gpus.product_library = "cuBLASLt 12.4.5";
    ComputeDevice device;
    CHECK_FALSE(tests::contains(device.products(), "cuBLASLt"));
    device.gpu = choose_gpu(config_of(""), tests::local_rank(0, 1), gpus);
    CHECK(device.products() == "cuBLASLt 12.4.5");
}

TEST_CASE("fp16 is asked for by either name, and brings ParlAI's loss scaling") {
    for (const std::string words : {"--fp16", "--precision fp16", "--fp16 true --precision fp16"}) {
        const RunConfig config = config_of(words);
        CHECK(precision_of(config.precision, GpuAssignment{}) == train::Precision::fp16);
        CHECK(config.train.loss_scaling.kind == kernels::LossScaling::Kind::dynamic);
        CHECK(config.train.loss_scaling.first == 0x1p15F);
        CHECK(config.train.loss_scaling.floor == 0x1p-5F);
        CHECK(gpu_settings(config, std::nullopt).master == train::Master::kept);
    }
    const RunConfig lean = config_of("--fp16 --fp16-impl mem_efficient");
    CHECK(lean.train.loss_scaling.first == 0x1p17F);
    CHECK(lean.train.loss_scaling.floor == 1e-4F);
    CHECK(gpu_settings(lean, std::nullopt).master == train::Master::none);
    CHECK(config_of("--fp16 false").train.loss_scaling.kind == kernels::LossScaling::Kind::fixed);
    CHECK(tests::contains(refusal([] { config_of("--fp16 --precision bf16"); }),
                          "--fp16 contradicts"));
    CHECK(tests::contains(refusal([] { config_of("--fp16-impl safe"); }), "--fp16-impl needs"));
}

TEST_CASE("GPUs compute in bf16 unless told otherwise, with the settings that were given") {
    const RunConfig config = config_of("--tf32 --autotune --timeout 7");
    const auto gpu = choose_gpu(config, tests::local_rank(1, 2), two);
    CHECK(precision_of(config.precision, gpu) == train::Precision::bf16);
    const auto settings = gpu_settings(config, gpu);
    CHECK(settings.device == 1);
    CHECK(settings.tf32);
    CHECK(settings.autotune);
    CHECK(settings.timeout_ms == 7000);
    CHECK(settings.max_graphs == 64);
    CHECK(gpu_settings(config_of("--cuda-graphs off"), gpu).max_graphs == 0);
    CHECK(gpu_settings(config_of("--cuda-graphs on"), gpu).max_graphs > 1'000'000);
}

TEST_CASE("ranks that do not all see a GPU, or that share one, hear of it on every rank") {
    const RunConfig config = config_of("");
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        const comm::RankInfo rank_info = tests::local_rank(ranks.rank(), 2);
        const auto agree = [&](const std::optional<GpuAssignment>& gpu) {
            return refusal([&] { agree_on_gpus(config, rank_info, gpu, ranks); });
        };
        CHECK(agree(std::nullopt) == "accepted");
        CHECK(agree(choose_gpu(config, rank_info, two)) == "accepted");
        CHECK(tests::contains(agree(choose_gpu(config, rank_info, ranks.rank() == 0 ? two : none)),
                              "1 of 2 ranks see a GPU"));
        const GpuAssignment shared{0, two.visible[0]};
        CHECK(tests::contains(agree(shared), "rank 0 and rank 1 on node1 share GPU-a"));
        const auto allowed = config_of("--allow-shared-gpu");
        CHECK(refusal([&] { agree_on_gpus(allowed, rank_info, shared, ranks); }) == "accepted");
    });
}

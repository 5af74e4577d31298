// SPDX-License-Identifier: Apache-2.0
// The whole program with --device cuda, on a GPU that the processor plays: lockstep_emulated_gpu.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/launcher/programs/emulated_gpu_run.hpp"
#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/running_job.hpp"

using namespace lockstep::tests;

namespace {

void check_near(const std::vector<double>& a, const std::vector<double>& b, double share) {
    REQUIRE(!a.empty());
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        CHECK(std::abs(a[i] - b[i]) <= share * std::abs(a[i]));
}

}  // namespace

TEST_CASE("a run that no GPU memory is left for is refused before it starts") {
    const EmulatedGpuRuns prepared;
    const auto run = run_line("lockstep_emulated_gpu train --data " + prepared.data + " -mf " +
                              prepared.model("large") +
                              " --embedding-size 2048 --ffn-size 8192 --n-layers 4 --n-heads 16 "
                              "-bs 2 --num-epochs 1 --threads 1");
    INFO(run.err);
    CHECK(run.code == 2);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(contains(run.err, "of its GPU's memory, of which 1 GiB are free"));
    CHECK(contains(run.err, "lockstep plan"));
    CHECK_FALSE(std::filesystem::exists(prepared.model("large") + "/config.json"));
}

TEST_CASE("a GPU that calculates layers again trains the same weights") {
    const EmulatedGpuRuns prepared;
    const std::string steps = "--device cuda --max-train-steps 4 ";
    prepared.train("kept", steps);
    const std::string saved = "/checkpoints/step-00000004/model.safetensors";
    for (const std::string level : {"ffn", "layer", "auto"}) {
        const auto run = prepared.train(level, steps + "--recompute " + level);
        CHECK(contains(run.out, "--recompute auto takes none: ") == (level == "auto"));
        CHECK(read_text(prepared.model(level) + saved) ==
              read_text(prepared.model("kept") + saved));
    }
}

TEST_CASE("heads that are too wide for a GPU are refused in one line, before anything is written") {
    const EmulatedGpuRuns prepared;
    const std::string wide = " --embedding-size 514 --n-layers 1 --ffn-size 16 --n-heads 2 -bs 2 ";
    const auto run = [&](const std::string& words, const std::string& name) {
        return run_line("lockstep_emulated_gpu " + words + " -mf " + prepared.model(name) +
                        " --data " + prepared.data + " --threads 1");
    };
    const std::string once = wide + "-tr 16 --max-train-steps 1 --validation-max-exs 1";
    const auto refused = [&](const ProgramResult& result) {
        INFO(result.err);
        CHECK(result.code == 2);
        CHECK(
            contains(result.err, "heads of 257 columns, and attention on GPUs takes 256 at most"));
        CHECK(contains(result.err, "or give --device cpu"));
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    };
    refused(run("train" + once, "wide"));
    CHECK_FALSE(std::filesystem::exists(prepared.model("wide")));
    refused(run("plan --device cuda" + wide, "wide"));
    const auto doctor = run("doctor" + wide, "wide");
    CHECK(doctor.code == 1);
    CHECK(contains(doctor.out, "PROBLEM [options] rank 0 on "));
    CHECK(contains(doctor.out, "heads of 257 columns"));
    const auto trained = run("train --device cpu" + once, "wide");
    REQUIRE_MESSAGE(trained.code == 0, trained.out << trained.err);
    refused(run("eval", "wide"));
    refused(run_line("lockstep_emulated_gpu generate -mf " + prepared.model("wide")));
}

TEST_CASE("GPUs that cannot compute are refused in one line, before anything is started") {
    const EmulatedGpuRuns prepared;
    const auto train = [&](const std::string& program, const std::string& driver,
                           const std::string& name) {
        return run_line(
            "lockstep_emulated_gpu " + program + " --data " + prepared.data + " -mf " +
                prepared.model(name) +
                " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 -bs 2 "
                "-tr 16 --seed 3 --log-every-n-steps 1 --max-train-steps 2 --threads 1",
            {"",
             {{"EMULATED_DRIVER", driver}, {"LD_LIBRARY_PATH", prepared.scratch / "libraries"}},
             ""});
    };
    const auto refused = [&](const std::string& program, const std::string& driver,
                             const std::string& why) {
        const auto run = train(program, driver, "refused");
        INFO(run.err);
        CHECK(run.code == 2);
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        CHECK(contains(run.err, why));
        CHECK(contains(run.err, "or give --device cpu"));
        CHECK_FALSE(std::filesystem::exists(prepared.model("refused")));
    };
    for (const std::string program : {"train", "multiprocessing_train"})
        refused(program, "11080",
                "the NVIDIA driver serves CUDA 11.8 at most, and this program is built with CUDA "
                "12.4: install driver 525 or newer");
    // Kernels of cuBLASLt 13, which is there, need a driver of CUDA 13.
    refused("train", "12020", "GPUs need libcublasLt.so.12, which cannot be opened");

    std::filesystem::create_directory(prepared.scratch / "libraries");
    std::filesystem::create_symlink(LOCKSTEP_EMULATED_CUBLAS_LT,
                                    prepared.scratch / "libraries/libcublasLt.so.12");
    for (const std::string driver : {"12020", "13000"}) {
        const auto run = train("train", driver, driver);
        INFO(run.err);
        CHECK(run.code == 0);
        CHECK(contains(run.out, "1 GPU (emulated)"));
    }
    CHECK(losses(prepared.model("12020")) == losses(prepared.model("13000")));
}

TEST_CASE("training, resuming, evaluating and generating on a GPU are the CPU's in fp32") {
    const EmulatedGpuRuns prepared;
    const std::string fp32 = "--precision fp32 --max-train-steps ";
    const auto gpu = prepared.train("gpu", fp32 + "3");
    CHECK(contains(gpu.out, "on 1 rank x 1 GPU (emulated)"));
    const auto resumed = prepared.train("gpu", fp32 + "5");
    CHECK_FALSE(contains(resumed.out, "changed since"));
    (void)prepared.train("cpu", fp32 + "5 --device cpu");
    check_near(losses(prepared.model("cpu")), losses(prepared.model("gpu")), 1e-4);

    const std::string evaluate =
        "--data " + prepared.data + " --precision fp32 --skip-generation --device ";
    const auto words = [&](const std::string& device) {
        write_text(prepared.scratch / "prompts", "what is it\\nwho goes there\\n");
        return prepared.words_of("eval", "cpu", evaluate + device) +
               prepared.words_of(
                   "generate", "cpu",
                   "--precision fp32 --max-length 8 --inference beam --beam-size 2 --input " +
                       (prepared.scratch / "prompts") + " --device " + device);
    };
    CHECK(words("cuda") == words("cpu"));

    const auto elsewhere = prepared.train("gpu", fp32 + "6 --device cpu");
    CHECK(contains(elsewhere.out, "device emulated -> cpu"));
}

TEST_CASE("a run says by what it computes, and which options have no effect on it") {
    const EmulatedGpuRuns prepared;
    const auto gpu =
        prepared.train("gpu", "--max-train-steps 1 --verbose --tf32 --gpu-backend staged");
    CHECK(contains(gpu.out, "products by cuBLASLt 13.0.0\n"));
    CHECK(contains(gpu.out, "--tf32 has no effect: products are of bf16"));
    CHECK(contains(gpu.out, "--gpu-backend has no effect: one rank"));
    const auto without = [&](const std::string& command) {
        return run_line("lockstep_emulated_gpu " + command + " -mf " + prepared.model("none"),
                        {"", {{"LOCKSTEP_EMULATED_GPUS", "0"}}, ""});
    };
    const std::string train =
        "train --data " + prepared.data +
        " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 -bs 2 "
        "-tr 16 --max-train-steps 1 --validation-max-exs 2 --threads 1 --device ";
    const std::string told = "no GPU is usable here (no GPU is visible";
    CHECK(contains(without(train + "auto").out, told));
    CHECK(contains(without("eval --device auto").err, told));
    CHECK_FALSE(contains(without(train + "cpu").out, told));
    CHECK_FALSE(contains(without("eval --device cpu").err, told));
    CHECK(without(train + "cuda").code == 2);
}

TEST_CASE("a number of emulated GPUs that is none is refused") {
    for (const std::string number : {"-1", "two", "2x", "", "65", "99999999999"}) {
        const auto run = run_line("lockstep_emulated_gpu doctor --preflight",
                                  {"", {{"LOCKSTEP_EMULATED_GPUS", number}}, ""});
        CHECK(run.code == 2);
        CHECK(contains(run.err, "LOCKSTEP_EMULATED_GPUS=" + number + ": give a number"));
    }
}

TEST_CASE("fp16 trains with ParlAI's words") {
    const EmulatedGpuRuns prepared;
    for (const std::string implementation : {"safe", "mem_efficient"}) {
        const auto run = prepared.train(
            implementation, "--fp16 true --fp16-impl " + implementation + " --max-train-steps 3");
        CHECK(contains(run.out, "parameters in fp16"));
        CHECK(contains(run.out, "attention by an emulated library\n"));
    }
    // The second begins with a scale that may overflow, and skips such steps.
    const auto safe = losses(prepared.model("safe")),
               lean = losses(prepared.model("mem_efficient"));
    CHECK(safe.size() >= 3);
    CHECK(lean.size() >= 3);
    check_near({safe.front()}, {lean.front()}, 0.01);
}

TEST_CASE("multiprocessing_train starts a rank for each GPU, and not more") {
    const EmulatedGpuRuns prepared;
    const std::string command = "lockstep_emulated_gpu multiprocessing_train --data " +
                                prepared.data + " -mf " + prepared.model("ranks") +
                                " --embedding-size 16 --n-layers 1 --ffn-size 16 -tr 16 "
                                "--max-train-steps 1 --validation-max-exs 2";
    const auto two = run_line(command + " --distributed-world-size 2");
    CHECK(two.code == 2);
    CHECK(std::count(two.err.begin(), two.err.end(), '\n') == 1);
    CHECK(contains(two.err, "1 GPU is visible"));
    const auto one = run_line(command + " --tf32 --autotune --precision fp32");
    REQUIRE_MESSAGE(one.code == 0, one.out << one.err);
    CHECK(contains(one.out, "in fp32 on 1 rank x 1 GPU"));
    CHECK_FALSE(contains(one.out, "attention by"));  // in fp32 there is no choice
}

TEST_CASE("ranks of GPUs that NCCL does not join train by copies through the host, and say so") {
    const EmulatedGpuRuns prepared;
    const auto train = [&](const std::string& name, const std::string& more,
                           const std::map<std::string, std::string>& environment = {}) {
        return run_line(
            "lockstep_emulated_gpu multiprocessing_train --data " + prepared.data + " -mf " +
                prepared.model(name) +
                " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 -tr 16 -bs 2 "
                "--seed 3 --precision fp32 --log-every-n-steps 1 --max-train-steps 3 "
                "--validation-max-exs 3 --threads 1 --bucket-mb 0.001 --hash-every-n-updates 1 " +
                more,
            {"", environment, ""});
    };
    const std::string two = "--distributed-world-size 2 ", slow = "hosts' memory, which is slow: ";
    const auto alone = train("alone", "--update-freq 2");
    REQUIRE_MESSAGE(alone.code == 0, alone.out << alone.err);
    CHECK_FALSE(contains(alone.out, slow));

    const auto shared = train("shared", two + "--allow-shared-gpu");
    REQUIRE_MESSAGE(shared.code == 0, shared.out << shared.err);
    CHECK(contains(shared.out, "in fp32 on 2 ranks x 1 GPU"));
    CHECK(contains(shared.out, slow + "rank 0 and rank 1 on "));
    CHECK(contains(shared.out, " share GPU-00112233-4455-6677-8899-aabbccddeeff, and NCCL wants"));
    check_near(losses(prepared.model("alone")), losses(prepared.model("shared")), 1e-5);

    std::map<std::string, std::string> gpus{{"LOCKSTEP_EMULATED_GPUS", "2"}};
    const auto asked = train("asked", two + "--gpu-backend staged", gpus);
    REQUIRE_MESSAGE(asked.code == 0, asked.out << asked.err);
    CHECK(contains(asked.out, slow + "--gpu-backend staged asks for it"));
    CHECK(losses(prepared.model("asked")) == losses(prepared.model("shared")));

    gpus["LOCKSTEP_EMULATED_MIG"] = "1";
    const auto cut = train("cut", two, gpus);
    REQUIRE_MESSAGE(cut.code == 0, cut.out << cut.err);
    CHECK(contains(cut.out, " have parts of GPU 0000:1A:00.0, and NCCL wants a GPU for each rank"));
    CHECK(losses(prepared.model("cut")) == losses(prepared.model("shared")));

    const auto part = train("part", two + "--allow-shared-gpu", {{"LOCKSTEP_EMULATED_MIG", "1"}});
    REQUIRE_MESSAGE(part.code == 0, part.out << part.err);
    CHECK(contains(part.out, " share MIG-00112233-4455-6677-8899-aabbccddeeff, and NCCL wants"));
}

// The emulated NCCL joins threads alone: two processes wait for each other, as on a network that
// lets nobody through.
TEST_CASE("a join by NCCL that nobody answers is told as such, and leaves a failure.json") {
    const EmulatedGpuRuns prepared;
    const auto run = run_line("lockstep_emulated_gpu multiprocessing_train --data " +
                                  prepared.data + " -mf " + prepared.model("apart") +
                                  " --embedding-size 16 --n-layers 1 --ffn-size 16 -tr 16 -bs 2 "
                                  "--max-train-steps 1 --threads 1 --timeout 10 "
                                  "--distributed-world-size 2",
                              {"", {{"LOCKSTEP_EMULATED_GPUS", "2"}}, ""});
    INFO(run.out << run.err);
    CHECK(run.code != 0);
    CHECK(contains(run.out, "the run has failed: joining by NCCL: no answer for "));
    CHECK(contains(run.out, "NCCL_SOCKET_IFNAME"));
    const std::string report = read_text(prepared.model("apart") + "/failure.json");
    CHECK(contains(report, "\"operation\": \"NCCL's join\""));
}

TEST_CASE("a rank that is killed or stopped ends the other, also through the host") {
    const EmulatedGpuRuns prepared;
    for (const int fault : {SIGKILL, SIGSTOP}) {
        const std::string model = prepared.model("fault" + std::to_string(fault));
        RunningJob job("lockstep_emulated_gpu multiprocessing_train --data " + prepared.data +
                           " -mf " + model +
                           " --embedding-size 16 --n-layers 1 --ffn-size 16 -tr 16 -bs 2 "
                           "--num-epochs 100000 --log-every-n-steps 1 --threads 1 --timeout 10 "
                           "--distributed-world-size 2 --allow-shared-gpu",
                       model);
        REQUIRE(job.wait_for_first_step());
        const pid_t victim = job.process_of(1);
        REQUIRE(victim > 0);
        kill(victim, fault);
        const auto run = job.wait();
        INFO(run.out << run.err);
        CHECK(run.code == (fault == SIGKILL ? 1 : 3));
        CHECK(contains(run.out, "the run has failed: rank 1 "));
        CHECK(job.processes() == 0);
    }
}

TEST_CASE("where no NCCL can be used the run says so, and goes on without it") {
    const EmulatedGpuRuns prepared;
    // A machine may have a real one: the first that the loader finds is the library of mathematics.
    Dl_info mathematics{};
    REQUIRE(::dladdr(reinterpret_cast<const void*>(static_cast<double (*)(double)>(&::cbrt)),
                     &mathematics) != 0);
    std::filesystem::create_symlink(std::filesystem::canonical(mathematics.dli_fname),
                                    prepared.scratch / "libnccl.so.2");
    const ProgramInput input{
        "", {{"LOCKSTEP_EMULATED_GPUS", "2"}, {"LD_LIBRARY_PATH", prepared.scratch / ""}}, ""};
    const auto run = [&](const std::string& more) {
        return run_line("lockstep_emulated_gpu multiprocessing_train --data " + prepared.data +
                            " -mf " + prepared.model("ranks") +
                            " --embedding-size 16 --n-layers 1 --ffn-size 16 -tr 16 -bs 2 "
                            "--max-train-steps 1 --validation-max-exs 2 --threads 1 "
                            "--distributed-world-size 2 " +
                            more,
                        input);
    };
    const std::string missing = " has no NCCL to be used (libnccl.so.2 has no nccl";
    const auto refused = run("--gpu-backend nccl");
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, missing));
    const auto staged = run("");
    REQUIRE_MESSAGE(staged.code == 0, staged.out << staged.err);
    const std::string told = "gradients go through the hosts' memory, which is slow: ";
    const auto at = staged.out.find(told);
    REQUIRE(at != std::string::npos);
    CHECK(staged.out.find(told, at + 1) == std::string::npos);  // once
    CHECK(contains(staged.out, missing));
}

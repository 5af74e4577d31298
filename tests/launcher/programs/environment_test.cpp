// SPDX-License-Identifier: Apache-2.0
// What the environment sets for OpenMP and for stacks changes no number, and ends no program by a
// signal.
#include <doctest/doctest.h>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Prepared {
    ScratchFolder scratch;
    std::string data = scratch / "data";

    Prepared() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 100);
        says(run_line("lockstep prepare --input " + (scratch / "train.txt") + " --out " + data), 0,
             {});
    }

    // The products are large enough that two threads share them.
    std::string command(const std::string& model, const std::string& threads) const {
        return "train --data " + data + " -mf " + (scratch / model) + " --threads " + threads +
               " --n-layers 1 --embedding-size 32 --ffn-size 64 --n-heads 2 -bs 16"
               " --max-train-steps 4 --precision fp32 --log-every-n-steps 1";
    }
};

}  // namespace

TEST_CASE("OpenMP's variables change no number") {
    const Prepared prepared;
    says(run_line(prepared.command("plain", "2")), 0, {});
    const auto expected = losses(prepared.scratch / "plain");
    REQUIRE(expected.size() == 4);
    for (const auto& [variable, value] : {std::pair("OMP_DYNAMIC", "true"),
                                          {"OMP_MAX_ACTIVE_LEVELS", "0"},
                                          {"OMP_NUM_THREADS", "1"}}) {
        CAPTURE(variable);
        says(run_line(prepared.command(variable, "2"), {"", {{variable, value}}, ""}), 0, {});
        CHECK(losses(prepared.scratch / variable) == expected);
    }
}

TEST_CASE("a limit of OpenMP's threads lowers their number, and is told where it contradicts") {
    const Prepared prepared;
    const ProgramInput one_thread{"", {{"OMP_THREAD_LIMIT", "1"}}, ""};
    says(run_line(prepared.command("model", "0"), one_thread), 0, {"on 1 rank x 1 core"});
    says(run_line(prepared.command("other", "2"), one_thread), 2,
         {"--threads 2: OMP_THREAD_LIMIT allows 1; unset it, or give --threads 1"});
}

TEST_CASE("stacks that are too small are told of") {
    const Prepared prepared;
    for (const std::string size : {"24k", "16", "+16k", " 100 K ", "20000B", "0M"}) {
        CAPTURE(size);
        says(run_line(prepared.command("model", "2"), {"", {{"OMP_STACKSIZE", size}}, ""}), 2,
             {"a thread's stack, by OMP_STACKSIZE,", "KiB"});
    }
    for (const std::string size :
         {"512", "1M", "4\tM", "+1G", "1G", "nonsense", "99999999999999999999"}) {
        CAPTURE(size);
        says(run_line("lockstep eval -mf none", {"", {{"OMP_STACKSIZE", size}}, ""}), 2, {"none"});
    }
    says(run_line("lockstep version", {"", {{"OMP_STACKSIZE", "16k"}}, ""}), 0, {});
    const std::map<std::string, std::string> both{{"OMP_STACKSIZE", "1M"},
                                                  {"GOMP_STACKSIZE", "16k"}};
    says(run_line("lockstep eval -mf none", {"", both, ""}), 2, {"none"});
    says(run_program({"bash", "-c", "ulimit -s 256; exec \"$0\" inspect " + prepared.data,
                      program_path("lockstep")}),
         2, {"the stack has 256 KiB, and Lockstep needs at least 512", "ulimit -s"});
}

TEST_CASE("a current folder that somebody has removed is told of") {
    const ScratchFolder scratch;
    const std::string gone = scratch / "gone";
    const std::string train = R"(exec "$0" train --data data -mf model --max-train-steps 1)";
    says(run_program({"bash", "-c",
                      "mkdir " + gone + " && cd " + gone + " && rmdir " + gone + " && " + train,
                      program_path("lockstep")}),
         2, {"the current folder does not exist any more"});
}

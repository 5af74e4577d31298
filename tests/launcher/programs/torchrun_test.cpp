// SPDX-License-Identifier: Apache-2.0
// PyTorch's own torchrun starts Lockstep's ranks, and distributed_launch starts PyTorch's.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;

namespace {

const std::string torchrun = LOCKSTEP_TORCHRUN;

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

// Puts the built programs on PATH, where torchrun looks for its program.
ProgramInput built_programs() {
    const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    ProgramInput input;
    input.environment["PATH"] = bin.string() + ":" + std::getenv("PATH");
    return input;
}

// The line of the final validation.
std::string best(const std::string& text) {
    const auto at = text.find("\nthe model with the ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
}

// distributed_launch of the script that is all PyTorch's.
ProgramResult launch(const std::string& options, const std::string& argument) {
    ProgramInput input;
    input.environment["PYTHON_EXEC"] = torchrun.substr(0, torchrun.rfind('/')) + "/python";
    return run_line("distributed_launch " + options +
                        " tests/launcher/programs/torch_all_reduce.py " + argument,
                    input);
}

}  // namespace

TEST_CASE("torchrun starts Lockstep's ranks, which train as those of multiprocessing_train") {
    const ScratchFolder scratch;
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 40);
    const std::string text = scratch / "train.txt";
    REQUIRE(run_line("lockstep prepare --input " + text + " --valid " + text + " --out " +
                     (scratch / "data"))
                .code == 0);
    const std::string train =
        " --n-layers 1 --embedding-size 16 --ffn-size 16 -bs 2 --max-train-steps 3"
        " --skip-generation --precision fp32 --verbose --data " +
        (scratch / "data");
    const auto own = run_line("multiprocessing_train --distributed-world-size 4 -mf " +
                              (scratch / "own") + train);
    REQUIRE(own.code == 0);
    for (const std::string options : {"--nproc-per-node 4", "--standalone --nproc_per_node=4"}) {
        CAPTURE(options);
        const ScratchFolder model;
        const auto theirs = run_line(torchrun + " --no-python " + options +
                                         " lockstep distributed_train -mf " + (model / "m") + train,
                                     built_programs());
        CAPTURE(theirs.err);
        REQUIRE(theirs.code == 0);
        CHECK(count(theirs.out, "placed by torchrun") == 4);
        CHECK(best(theirs.out) == best(own.out));
        CHECK_FALSE(best(own.out).empty());
    }
}

TEST_CASE("distributed_launch starts ranks of torch.distributed, and starts them again") {
    const auto result = launch("--nproc-per-node 3", "");
    CAPTURE(result.err);
    CHECK(result.code == 0);
    for (const char* rank : {"0", "1", "2"}) {
        CHECK(count(result.out, std::string("rank ") + rank + " of 3: 6, attempt 0\n") == 1);
    }
    const auto again = launch("--standalone --nproc_per_node=2 --max_restarts 1 --tee 3", "fail");
    CAPTURE(again.err);
    CHECK(again.code == 0);
    CHECK(count(again.out, "[rank 0] rank 0 of 2: 3, attempt 1\n") == 1);
    CHECK(count(again.out, "[rank 1] rank 1 of 2: 3, attempt 1\n") == 1);
    CHECK(launch("--nproc-per-node 2", "fail").code == 7);
}

// SPDX-License-Identifier: Apache-2.0
// A profiler that writes down what it is told (tests/support/nvtx_recorder.cpp) sees the ranges of
// a run.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;

namespace {

using Path = std::string;  // "step/micro-batch/forward"

// Counts each range by the ranges around it. The ranges of a thread must be nested.
std::map<Path, int> ranges_of(const std::string& record) {
    std::map<Path, int> count;
    std::map<std::string, std::vector<std::string>> open;  // by thread
    std::istringstream lines(record);
    std::string thread, word;
    while (lines >> thread && std::getline(lines >> std::ws, word)) {
        auto& names = open[thread];
        if (word == "-") {
            REQUIRE(!names.empty());
            names.pop_back();
            continue;
        }
        names.push_back(word.substr(1));
        Path path;
        for (const std::string& name : names) path += (path.empty() ? "" : "/") + name;
        ++count[path];
    }
    for (const auto& [name, names] : open) CHECK(names.empty());
    return count;
}

}  // namespace

TEST_CASE("a profiler is told of steps, micro-batches and their parts, buckets and checkpoints") {
    const ScratchFolder scratch;
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 40);
    const auto prepared = run_line("lockstep_emulated_gpu prepare --input " +
                                   (scratch / "train.txt") + " --out " + (scratch / "data"));
    REQUIRE_MESSAGE(prepared.code == 0, prepared.out << prepared.err);
    ProgramInput input;
    input.environment = {
        {"NVTX_INJECTION64_PATH",
         (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libnvtx_recorder.so")},
        {"NVTX_RECORD", scratch / "record"}};
    const auto run = run_line(
        "lockstep_emulated_gpu train --data " + (scratch / "data") + " -mf " + (scratch / "model") +
            " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 -bs 2 -tr 16"
            " --update-freq 2 --max-train-steps 2 --cuda-graphs off --threads 1",
        input);
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    auto count = ranges_of(read_text(scratch / "record"));
    CHECK(count["step"] == 2);
    CHECK(count["step/data"] == 2);
    CHECK(count["step/micro-batch"] == 4);
    for (const std::string part : {"upload", "forward", "loss", "backward"})
        CHECK_MESSAGE(count["step/micro-batch/" + part] == 4, part);
    CHECK(count["step/bucket 0"] == 2);
    CHECK(count["step/reduction"] == 2);
    CHECK(count["step/update"] == 2);
    CHECK(count["checkpoint"] == 1);
}

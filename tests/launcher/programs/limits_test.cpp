// SPDX-License-Identifier: Apache-2.0
// A run for which descriptors or memory do not suffice, anywhere between its start and its end: it
// says so in one line and ends, and the next start continues as if nothing had been.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/launcher/programs/fault_sweep.hpp"
#include "tests/launcher/programs/tiny_run.hpp"

using namespace lockstep::tests;

namespace {

ProgramResult limited(const std::string& limit, const std::vector<std::string>& command) {
    std::vector<std::string> words = {"bash", "-c", "ulimit " + limit + " && exec \"$@\"", "bash",
                                      program_path(command.front())};
    words.insert(words.end(), command.begin() + 1, command.end());
    return run_within_limit(words);
}

constexpr int segmentation_fault = 128 + 11;

// The loader, oneDNN and HDF5 end in their own ways if they get no memory.
bool ended_in_a_library(const ProgramResult& run) {
    return run.code == segmentation_fault ||
           run.err.find("error while loading shared libraries") != std::string::npos;
}

std::string complaint_about_end(const ProgramResult& run) {
    if (run.code == 124 || run.code == 137) return "; hangs";
    if (run.code == 0) return "";
    if (run.code != 1 && run.code != 2) return "; code " + std::to_string(run.code);
    if (run.err.find("restore the file") != std::string::npos) return "; blames a sound file";
    return told_in_one_line(run);
}

// Runs with one limit after another and returns the number of complaints and of failed runs.
struct Tried {
    int complaints = 0, failed = 0;
};

Tried try_limits(const std::vector<std::string>& limits) {
    use_scratch_in_memory();
    const TinyRun run;
    const FolderTree before = run.after(2);
    const RunCheck check(run, before, 2);
    Tried tried;
    for (const std::string& limit : limits) {
        const ScratchFolder folder;
        write_tree(before, folder.path());
        const ProgramResult met = limited(limit, run.command(folder.path()));
        const std::string complaint = (ended_in_a_library(met) ? "" : complaint_about_end(met)) +
                                      check(folder.path(), met, Aftermath::killed);
        tried.failed += met.code != 0;
        if (complaint.empty()) continue;
        ++tried.complaints;
        std::printf("ulimit %s: %s [code %d, %s]\n", limit.c_str(), complaint.c_str(), met.code,
                    met.err.c_str());
    }
    std::printf("%zu limits, %d failed, %d complaints\n", limits.size(), tried.failed,
                tried.complaints);
    return tried;
}

std::vector<std::string> limits_of(const char* option, int first, int last, int step) {
    std::vector<std::string> limits;
    for (int at = first; at <= last; at += step)
        limits.push_back(std::string(option) + " " + std::to_string(at));
    return limits;
}

}  // namespace

TEST_CASE("a run without enough descriptors says so and harms nothing") {
    const Tried tried = try_limits(limits_of("-n", 4, 20, 1));
    CHECK(tried.complaints == 0);
    CHECK(tried.failed >= 3);
    CHECK(tried.failed < 17);
}

TEST_CASE("ranks that may open too few files are told so, and nothing is said of strangers") {
    const TinyRun run;
    const ScratchFolder folder;
    std::vector<std::string> command = run.command(folder.path());
    command[1] = "multiprocessing_train";
    command.insert(command.end(), {"--distributed-world-size", "2", "--timeout", "5"});
    const ProgramResult met = limited("-n 16", command);
    CAPTURE(met.err);
    CHECK(met.code == 2);
    CHECK(met.err.find("of 2 may have 16 files open, and needs 3") != std::string::npos);
    CHECK(met.err.find("ulimit -n") != std::string::npos);
    CHECK(met.err.find("secret") == std::string::npos);
}

TEST_CASE("a run without enough address space says so and harms nothing") {
    const Tried tried = try_limits(limits_of("-v", 60'000, 420'000, 15'000));
    CHECK(tried.complaints == 0);
    CHECK(tried.failed >= 3);
}

TEST_CASE("a run without enough memory for its data says so and harms nothing") {
    const Tried tried = try_limits(limits_of("-d", 4'000, 196'000, 12'000));
    CHECK(tried.complaints == 0);
    CHECK(tried.failed >= 3);
}

TEST_CASE("a library that ends the process without a word does not end it in silence") {
    const TinyRun run;
    const ScratchFolder folder;
    const ProgramResult met = run_within_limit(
        run.command(folder.path()), {{"LD_PRELOAD", program_path("libexiting_reads.so")}});
    CHECK(met.code == 1);
    CHECK(met.err ==
          "lockstep: out of memory; take a smaller batch (-bs, --batch-tokens) or "
          "model\n");
}

TEST_CASE("a run whose files may not grow tells which checkpoints it cannot save") {
    const TinyRun run;
    const FolderTree before = run.after(2);
    std::size_t part_bytes = 0;  // the largest file of a checkpoint
    for (const auto& [path, bytes] : before)
        if (bytes && path.find("part-00000") != std::string::npos) part_bytes = bytes->size();
    REQUIRE(part_bytes > 2048);
    const ScratchFolder folder;
    write_tree(before, folder.path());
    const ProgramResult met =
        limited("-f " + std::to_string(part_bytes / 1024 - 1), run.command(folder.path()));
    CHECK(met.code == 1);
    CHECK((met.out + met.err).find("is not saved (EFBIG)") != std::string::npos);
}

// SPDX-License-Identifier: Apache-2.0
// File systems that are slow or no longer answer: a rank that reads or writes at all is waited for,
// one that hangs ends the run, and nothing that hangs keeps a process.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "tests/launcher/programs/disturbed_run.hpp"

using namespace lockstep::tests;

namespace {

const std::string two_ranks = "multiprocessing_train --backend gloo --distributed-world-size 2";
const std::string two_by_mpi = "mpirun --oversubscribe -np 2 distributed_train";

// Slows the files whose paths contain `part`, on one rank (-1: on all); 0 bytes: they hang.
struct Slow {
    std::string part;
    int rank;
    int bytes_per_s;
};

std::map<std::string, std::string> environment_of(const Slow& slow, const std::string& flag) {
    std::map<std::string, std::string> variables{
        {"LD_PRELOAD", build_bin() + "/libslow_files.so"},
        {"SLOW_FILES", slow.part},
        {"SLOW_FILES_BYTES_PER_S", std::to_string(slow.bytes_per_s)},
        {"SLOW_FILES_FLAG", flag}};
    if (slow.rank >= 0) variables["SLOW_FILES_RANK"] = std::to_string(slow.rank);
    return variables;
}

using Then = std::function<void(const RunningJob& job)>;

// Slows the files of a run that never ends by itself, then calls `then`.
DisturbedEnd run_slowed(const DisturbedData& data, const std::string& ranks, const Slow& slow,
                        const std::string& options, const Then& then = {}) {
    DisturbedRun run(data, ranks, options);
    for (const auto& [name, value] : environment_of(slow, run.flag())) run.environment(name, value);
    return run.run([&](const RunningJob& job) {
        write_text(run.flag(), "now");
        if (then) then(job);
    });
}

// A request to stop saves a checkpoint and the weights.
void stop(const RunningJob& job) { kill(job.launcher(), SIGUSR1); }

void kill_rank_0_in_a_save(const RunningJob& job) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    kill(job.process_of(0), SIGKILL);
}

const std::string saves_often = " --save-every-n-secs 1";

template <class Run>
std::vector<DisturbedEnd> at_once(std::size_t count, const Run& run) {
    std::vector<DisturbedEnd> ends(count);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { ends[i] = run(i); });
    threads.clear();
    return ends;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

int lines_with(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

void check_success(const ProgramResult& result) {
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(!has(result.out + result.err, "the run has failed"));
}

void check_hung_save(const DisturbedEnd& end, const std::string& rank) {
    CAPTURE(end.result.out);
    CAPTURE(end.result.err);
    CHECK(end.result.code != 0);
    CHECK(end.left_behind == 0);
    CHECK(lines_with(end.result.out, "the run has failed") == 1);
    CHECK(has(end.result.out, rank));
    CHECK(has(end.result.out, "does not move on: saving a checkpoint"));
    REQUIRE(end.failure.is_object());
    CHECK(end.failure.value("phase", "") == "saving a checkpoint");
    CHECK(has(end.failure.value("file", ""), "model/checkpoints/"));
}

}  // namespace

TEST_CASE("a save that takes longer than the time-out goes through while its bytes move") {
    const DisturbedData data;
    const auto ends = at_once(3, [&](std::size_t i) {
        if (i == 2)  // each rank writes what it owns
            return run_slowed(data, two_ranks, {"model/", 1, 4'500}, " --zero 3", stop);
        return run_slowed(data, i == 0 ? two_ranks : two_by_mpi, {"model/", 0, 9'000}, "", stop);
    });
    for (const DisturbedEnd& end : ends) {
        CHECK(end.seconds > 9);  // else nothing was slow
        check_success(end.result);
        CHECK(end.left_behind == 0);
    }
}

TEST_CASE("a save that stands still ends the run in one message with rank, phase and file") {
    const DisturbedData data;
    const std::vector<std::string> ways = {two_ranks, two_by_mpi, two_ranks};
    const auto ends = at_once(ways.size(), [&](std::size_t i) {
        return run_slowed(data, ways[i], {"model/checkpoints", i == 2 ? -1 : 0, 0}, saves_often);
    });
    for (const DisturbedEnd& end : ends) check_hung_save(end, "rank 0");
}

TEST_CASE("a rank whose part of a save stands still ends the run, and is named") {
    const DisturbedData data;
    const std::vector<std::string> ways = {two_ranks, two_by_mpi};
    const auto ends = at_once(ways.size(), [&](std::size_t i) {
        return run_slowed(data, ways[i], {"model/checkpoints", 1, 0}, saves_often + " --zero 2");
    });
    for (const DisturbedEnd& end : ends) check_hung_save(end, "rank 1");
}

TEST_CASE("where no file of the model folder answers any more, all ranks end and one says why") {
    const DisturbedData data;
    const std::string three = "multiprocessing_train --backend gloo --distributed-world-size 3";
    const std::string bare = "timeout 400 bash tests/launcher/programs/bare_ranks.sh 3 ";
    const std::vector<std::string> ways = {three, two_by_mpi, bare + "29700 distributed_train",
                                           bare + "29720 distributed_train"};
    const auto ends = at_once(ways.size(), [&](std::size_t i) {
        return run_slowed(data, ways[i], {"/model", i == 0 ? 0 : -1, 0}, saves_often,
                          i == 3 ? kill_rank_0_in_a_save : Then());
    });
    for (const DisturbedEnd& end : ends) {
        CAPTURE(end.result.out);
        CAPTURE(end.result.err);
        CHECK(end.left_behind == 0);
        CHECK(end.seconds < 250);  // a tenth of it is usual; without an end there is none
        CHECK(lines_with(end.result.out, "the run has failed") == 1);
        CHECK(has(end.result.out, "rank 0"));
        CHECK(lines_with(end.result.out, " code 0\n") == 0);
    }
}

TEST_CASE("a checkpoint that is read for longer than the time-out is waited for at the start") {
    const DisturbedData data;
    const ScratchFolder scratch;
    const std::string line = two_ranks + " --data " + data.path() + " -mf " + (scratch / "model") +
                             " --embedding-size 8 --n-layers 1 --ffn-size 8 --threads 1 -bs 32"
                             " --text-truncate 16 --label-truncate 8 --timeout 6";
    REQUIRE(run_line(line + " --max-train-steps 2").code == 0);
    write_text(scratch / "flag", "now");
    const Slow slow{"model/checkpoints", 0, 20'000};
    check_success(
        run_line(line + " --max-train-steps 4", {"", environment_of(slow, scratch / "flag"), ""}));
}

TEST_CASE("rows that are read for longer than the time-out do not end an evaluation") {
    const DisturbedData data;
    const ScratchFolder scratch;
    const std::string model = " --data " + data.path() + " -mf " + (scratch / "model");
    REQUIRE(run_line("train" + model +
                     " --embedding-size 8 --n-layers 1 --ffn-size 8 --threads 1 -bs 32"
                     " --text-truncate 16 --label-truncate 8 --max-train-steps 1")
                .code == 0);
    write_text(scratch / "flag", "now");
    const std::string line =
        "multiprocessing_eval --backend gloo --distributed-world-size 2 --split train --timeout 6"
        " --threads 1 --skip-generation true --num-examples 2000" +
        model;
    const std::vector<std::string> options = {" --unigram-baseline", ""};
    const std::vector<Slow> slow = {{"train-00002", 0, 1'300'000}, {"train-00000", 1, 90'000}};
    at_once(options.size(), [&](std::size_t i) {
        DisturbedEnd end;
        end.result =
            run_line(line + options[i], {"", environment_of(slow[i], scratch / "flag"), ""});
        check_success(end.result);
        return end;
    });
}

TEST_CASE("a job that was suspended as a whole for longer than the time-out goes on") {
    const DisturbedData data;
    const auto ends = at_once(2, [&](std::size_t i) {
        DisturbedRun run(data, i == 0 ? two_ranks : two_by_mpi, " --max-train-time 16");
        return run.run([&](const RunningJob& job) {
            const std::vector<pid_t> ranks = {job.process_of(0), job.process_of(1)};
            for (const pid_t rank : ranks) kill(rank, SIGSTOP);
            std::this_thread::sleep_for(std::chrono::seconds(9));
            for (const pid_t rank : ranks) kill(rank, SIGCONT);
        });
    });
    for (const DisturbedEnd& end : ends) {
        CHECK(end.left_behind == 0);
        check_success(end.result);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Ctrl-C in a terminal is answered at once, and a second one ends a run at once, told as what it
// is.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/needs.hpp"
#include "tests/support/program_checks.hpp"
#include "tests/support/terminal.hpp"

using namespace lockstep::tests;

namespace {

const std::string ctrl_c = "\x03";

struct Start {
    std::string launcher;
    int code_at_once;  // the exit code after the second Ctrl-C
};

const std::vector<Start> starts = {
    {"train", 128 + SIGINT},
    {"multiprocessing_train --distributed-world-size 2", 1},
    {"distributed_launch --nproc-per-node 2 distributed_train", 1},
};

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

// One step takes many seconds.
constexpr const char* slow_steps =
    " --embedding-size 320 --ffn-size 1280 --n-heads 8 --n-layers 6 --threads 1"
    " --num-epochs 100 --precision fp32";
constexpr const char* fast_steps =
    " --embedding-size 16 --ffn-size 16 --n-heads 2 --n-layers 1 --threads 1 -bs 4"
    " --log-every-n-steps 1";

}  // namespace

TEST_CASE_FIXTURE(PreparedDialogues, "a second Ctrl-C is told as such, with the last checkpoint" *
                                         doctest::test_suite(needs_terminal)) {
    for (const Start& start : starts) {
        CAPTURE(start.launcher);
        const std::string folder = model + std::to_string(start.launcher.size());
        const std::string line = start.launcher + " --data " + data + " -mf " + folder + slow_steps;
        TerminalProgram run(words_of(line + " -bs 60 --update-freq 8"));
        run.read_until("training ");
        run.read_until(" lane");
        run.type(ctrl_c);
        run.read_until("stopping: ");
        run.read_until("press Ctrl-C again to stop at once");
        run.type(ctrl_c);
        run.read_until("stopped at once at the second Ctrl-C; there is no checkpoint");
        CHECK(run.wait() == start.code_at_once);
        CHECK_FALSE(std::filesystem::exists(folder + "/checkpoints"));
    }
}

TEST_CASE_FIXTURE(PreparedDialogues,
                  "the first Ctrl-C is answered, and the end names checkpoint and command" *
                      doctest::test_suite(needs_terminal)) {
    for (const Start& start : starts) {
        CAPTURE(start.launcher);
        const std::string folder = model + std::to_string(start.launcher.size());
        TerminalProgram run(words_of(start.launcher + " --data " + data + " -mf " + folder +
                                     fast_steps + " --num-epochs 100000"));
        run.read_until("step 3 ");
        run.type(ctrl_c);
        run.read_until("stopping: ");
        run.read_until("a checkpoint is saved: " + folder + "/checkpoints/step-");
        const std::string rest = run.read_until("\n");
        CHECK_MESSAGE(rest.find("continues from it") != std::string::npos, rest);
        CHECK_MESSAGE(rest.find(" -mf " + folder) != std::string::npos, rest);
        CHECK(run.wait() == 0);
    }
}

TEST_CASE_FIXTURE(PreparedDialogues, "a second Ctrl-C in a continued run names the checkpoint" *
                                         doctest::test_suite(needs_terminal)) {
    const auto first = run_line("train --data " + data + " -mf " + model + slow_steps +
                                " -bs 1 --max-train-steps 1");
    REQUIRE_MESSAGE(first.code == 0, first.err);
    TerminalProgram run(
        words_of("train --data " + data + " -mf " + model + slow_steps + " -bs 60"));
    run.read_until("training ");
    run.type(ctrl_c);
    run.read_until("stopping: ");
    run.type(ctrl_c);
    run.read_until("the last checkpoint is " + model + "/checkpoints/step-00000001");
    CHECK(run.wait() == 128 + SIGINT);
}

// Nothing is trained yet that could be finished or saved.
TEST_CASE_FIXTURE(PreparedDialogues, "a signal ends the wait for other ranks at once") {
    struct Case {
        int rank, code;
        const char *signals, *told;
    };
    const std::vector<Case> cases = {
        {0, 128 + SIGTERM, "TERM", " was stopped by SIGTERM while it waited for rank 1, 2 of 3 "},
        {0, 128 + SIGINT, "INT", " was stopped by Ctrl-C while it waited for rank 1, 2 of 3 "},
        {0, 128 + SIGINT, "INT INT", " was stopped by Ctrl-C while it waited for "},
        {0, 128 + SIGHUP, "HUP", " was stopped by SIGHUP while it waited for rank 1, 2 of 3 "},
        {0, 0, "USR1", " was stopped by SIGUSR1 while it waited for rank 1, 2 of 3 "},
        {1, 128 + SIGTERM, "TERM", " was stopped by SIGTERM while it waited for rank 0 and "},
        {1, 128 + SIGTERM, "TERM TERM", " was stopped by SIGTERM while it waited for rank 0 and "}};
    int number = 0;
    for (const Case& one : cases) {
        CAPTURE(one.rank);
        CAPTURE(one.signals);
        const std::string folder = model + std::to_string(++number),
                          rank = std::to_string(one.rank);
        // The rank waits when its threads are those of the store, or when it looks for rank 0.
        const std::string script =
            "set -m; " + program_path("distributed_train") + " --data " + data + " -mf " + folder +
            fast_steps +
            " --num-epochs 1 --timeout 600 & p=$!; until grep -qsE :7E7F /proc/net/tcp || "
            "[ $RANK = 1 ]; do sleep 0.05; done; sleep 0.3; for s in " +
            one.signals + "; do kill -$s $p; done; wait $p";
        ProgramInput input;
        input.environment = {{"RANK", rank},           {"WORLD_SIZE", "3"},
                             {"LOCAL_RANK", rank},     {"LOCAL_WORLD_SIZE", "3"},
                             {"MASTER_PORT", "32382"}, {"MASTER_ADDR", "localhost"}};
        const auto run = run_program({"bash", "-c", script}, input);
        says(run, one.code, {"rank " + rank + " on ", one.told, "; nothing was trained\n"});
        CHECK(run.err.find("checkpoint") == std::string::npos);
        CHECK_FALSE(std::filesystem::exists(folder + "/checkpoints"));
    }
}

// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/process_group.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

ProcessSpec shell(const std::string& script) {
    return {{"sh", "-c", script}, comm::process_environment()};
}

GroupOptions quick() {
    GroupOptions options;
    options.grace_ms = 200;
    options.stop_grace_ms = 200;
    return options;
}

bool alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

// Waits for what must come; the test's own time-out ends a wait in vain.
template <class Condition>
void until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

pid_t pid_in(const std::string& path) {
    until([&] { return tests::read_text(path).ends_with("\n"); });
    return std::stoi(tests::read_text(path));
}

// Runs the group in a process of its own, as a launcher would; its exit code is the group's.
pid_t launch(const std::vector<ProcessSpec>& processes, const GroupOptions& options) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const GroupResult result = run_process_group(processes, options);
    ::_exit(result.failed_rank >= 0 ? result.status : result.signal);
}

int exit_code(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a group whose ranks all succeed succeeds") {
    const auto result = run_process_group({shell("exit 0"), shell("true"), shell(":")}, quick());
    CHECK(result.failed_rank == -1);
    CHECK(result.status == 0);
    CHECK(result.signal == 0);
}

TEST_CASE("one failure ends the others, and is the one reported") {
    const tests::ScratchFolder folder;
    const std::string sleeper = "echo $$ > " + folder / "pid" + "; exec sleep 600";
    const auto result = run_process_group(
        {shell(sleeper), shell("until [ -s " + folder / "pid" + " ]; do :; done; exit 5")},
        quick());
    CHECK(result.failed_rank == 1);
    CHECK(result.status == 5);
    CHECK_FALSE(alive(pid_in(folder / "pid")));
}

TEST_CASE("a rank that ignores TERM is killed after the grace period") {
    const tests::ScratchFolder folder;
    const std::string deaf =
        "trap '' TERM; echo $$ > " + folder / "pid" + "; while :; do sleep 0.01; done";
    const auto result = run_process_group(
        {shell("until [ -s " + folder / "pid" + " ]; do :; done; exit 1"), shell(deaf)}, quick());
    CHECK(result.failed_rank == 0);
    CHECK_FALSE(alive(pid_in(folder / "pid")));
}

TEST_CASE("ranks that are killed at a request did not fail by themselves") {
    const tests::ScratchFolder folder;
    const std::string deaf =
        "trap '' INT TERM; echo $$ > " + folder / "pid" + "; while :; do sleep 0.01; done";
    for (const bool twice : {false, true}) {
        GroupOptions options = quick();
        if (twice) options.stop_grace_ms.reset();
        std::vector<int> told;
        options.on_request = [&](int signal) {
            told.push_back(signal);
            if (twice) ::raise(SIGINT);
        };
        const std::string asks = twice ? "INT" : "TERM";
        const auto result =
            run_process_group({shell(deaf), shell("trap '' INT TERM; until [ -s " + folder / "pid" +
                                                  " ]; do :; done; kill -" + asks +
                                                  " $PPID; while :; do sleep 0.01; done")},
                              options);
        CHECK(result.killed ==
              (twice ? KilledAtRequest::at_second_interrupt : KilledAtRequest::when_time_was_over));
        CHECK(result.signal == (twice ? SIGINT : SIGTERM));
        CHECK(told == std::vector<int>{result.signal});
        std::filesystem::remove(folder / "pid");
    }
}

TEST_CASE("ranks that are killed after a failure are not killed at a request") {
    const auto result = run_process_group(
        {shell("exit 5"), shell("trap '' TERM; while :; do sleep 0.01; done")}, quick());
    CHECK(result.failed_rank == 0);
    CHECK(result.killed == KilledAtRequest::no);
}

TEST_CASE("a rank killed by a signal is a failure with the signal's code") {
    const auto result =
        run_process_group({shell("exec sleep 600"), shell("kill -KILL $$")}, quick());
    CHECK(result.failed_rank == 1);
    CHECK(result.status == 128 + SIGKILL);
}

TEST_CASE("the rank that failed is reported, not one that only lost its peer") {
    const tests::ScratchFolder folder;
    const std::string culprit =
        "trap 'exit 7' TERM; echo $$ > " + folder / "pid" + "; while :; do sleep 0.01; done";
    const auto result = run_process_group(
        {shell("until [ -s " + folder / "pid" + " ]; do :; done; exit 3"), shell(culprit)},
        GroupOptions());
    CHECK(result.failed_rank == 1);
    CHECK(result.status == 7);
}

TEST_CASE("a killed rank is reported even where its peer's end is seen first") {
    const tests::ScratchFolder folder;
    const std::string pid = folder / "pid";
    const std::string peer = "until [ -s " + pid +
                             " ]; do sleep 0.01; done; kill -STOP $PPID; kill -KILL $(cat " + pid +
                             "); (sleep 0.1; kill -CONT $PPID) & exit 3";
    const pid_t group =
        launch({shell(peer), shell("echo $$ > " + pid + "; exec sleep 600")}, GroupOptions());
    CHECK(exit_code(group) == 128 + SIGKILL);
}

TEST_CASE("processes that a rank leaves behind end with it") {
    const tests::ScratchFolder folder;
    const std::string file = folder / "pid";
    const auto result =
        run_process_group({shell("sleep 600 & echo $! > " + file + "; exit 0")}, quick());
    CHECK(result.failed_rank == -1);
    const pid_t pid = pid_in(file);
    until([&] {  // killed, and then reaped by whoever inherits orphans here, or a zombie for ever
        const std::string stat = tests::read_text("/proc/" + std::to_string(pid) + "/stat");
        return stat.empty() || stat.find(") Z ") != std::string::npos;
    });
}

TEST_CASE("INT, TERM, HUP, QUIT, USR1 and USR2 reach the ranks") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        const tests::ScratchFolder folder;
        const std::string rank = "trap 'echo told > " + folder / "usr1" +
                                 "' USR1; trap 'echo told > " + folder / "usr2" +
                                 "' USR2; trap 'exit 0' INT TERM HUP QUIT; echo $$ > " +
                                 folder / "pid" + "; while :; do sleep 0.01; done";
        const pid_t group = launch({shell(rank)}, GroupOptions());
        pid_in(folder / "pid");
        ::kill(group, SIGUSR1);
        until([&] { return !tests::read_text(folder / "usr1").empty(); });
        ::kill(group, SIGUSR2);
        until([&] { return !tests::read_text(folder / "usr2").empty(); });
        ::kill(group, signal);
        CHECK(exit_code(group) == signal);  // no rank failed: each ended with 0
    }
}

TEST_CASE("a HUP that the launcher was started to ignore does not reach the ranks") {
    const tests::ScratchFolder folder;
    const std::string rank =
        "trap 'exit 0' TERM; echo $$ > " + folder / "pid" + "; while :; do sleep 0.01; done";
    ::signal(SIGHUP, SIG_IGN);  // as nohup does
    const pid_t group = launch({shell(rank)}, GroupOptions());
    ::signal(SIGHUP, SIG_DFL);
    pid_in(folder / "pid");
    ::kill(group, SIGHUP);
    ::kill(group, SIGTERM);
    CHECK(exit_code(group) == SIGTERM);
}

TEST_CASE("after QUIT the ranks get no time for a checkpoint") {
    const tests::ScratchFolder folder;
    const std::string deaf =
        "trap '' QUIT; echo $$ > " + folder / "pid" + "; while :; do sleep 0.01; done";
    GroupOptions patient = quick();
    patient.stop_grace_ms.reset();
    const pid_t group = launch({shell(deaf)}, patient);
    pid_in(folder / "pid");
    ::kill(group, SIGQUIT);
    CHECK(exit_code(group) == 128 + SIGKILL);
}

TEST_CASE("a rank that does not end after TERM from outside is killed") {
    const tests::ScratchFolder folder;
    const std::string deaf =
        "trap '' TERM INT; echo $$ > " + folder / "pid" + "; while :; do sleep 0.01; done";
    const pid_t group = launch({shell(deaf)}, quick());
    const pid_t rank = pid_in(folder / "pid");
    ::kill(group, SIGTERM);
    CHECK(exit_code(group) == 128 + SIGKILL);
    CHECK_FALSE(alive(rank));
}

TEST_CASE("ranks that are given the time for it finish what they do after TERM") {
    const tests::ScratchFolder folder;
    const std::string slow = "trap 'sleep 1; echo saved > " + folder / "checkpoint" +
                             "; exit 0' TERM; echo $$ > " + folder / "pid" +
                             "; while :; do sleep 0.01; done";
    GroupOptions patient = quick();
    patient.stop_grace_ms.reset();
    const pid_t group = launch({shell(slow)}, patient);
    pid_in(folder / "pid");
    ::kill(group, SIGTERM);
    CHECK(exit_code(group) == SIGTERM);
    CHECK(tests::read_text(folder / "checkpoint") == "saved\n");
}

TEST_CASE("a second INT does not wait for the grace period") {
    const tests::ScratchFolder folder;
    const std::string deaf = "trap 'echo told > " + folder / "int" + "' INT; echo $$ > " +
                             folder / "pid" + "; while :; do sleep 0.01; done";
    GroupOptions patient;
    patient.stop_grace_ms = 3'600'000;
    const pid_t group = launch({shell(deaf)}, patient);
    pid_in(folder / "pid");
    ::kill(group, SIGINT);
    until([&] { return !tests::read_text(folder / "int").empty(); });
    ::kill(group, SIGINT);
    CHECK(exit_code(group) == 128 + SIGKILL);
}

TEST_CASE("when the launcher itself is killed, no rank stays") {
    const tests::ScratchFolder folder;
    const std::string rank = "echo $$ > " + folder / "pid" + "; exec sleep 600";
    const pid_t group = launch({shell(rank)}, GroupOptions());
    const pid_t pid = pid_in(folder / "pid");
    ::kill(group, SIGKILL);
    CHECK(exit_code(group) == 128 + SIGKILL);
    until([&] {
        const std::string stat = tests::read_text("/proc/" + std::to_string(pid) + "/stat");
        return stat.empty() || stat.find(") Z ") != std::string::npos;
    });
}

TEST_CASE("a program that does not exist is named, and what had started is ended") {
    const tests::ScratchFolder folder;
    const std::string rank = "echo $$ > " + folder / "pid" + "; exec sleep 600";
    const ProcessSpec missing{{folder / "no-such-program"}, {}};
    try {
        run_process_group({shell(rank), missing}, quick());
        FAIL("started");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::launch);
        CHECK(std::string(error.what()).find("no-such-program") != std::string::npos);
    }
    const std::string text =
        tests::read_text(folder / "pid");  // empty when ended before its first word
    if (text.ends_with("\n")) CHECK_FALSE(alive(std::stoi(text)));
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("each rank is told its place, its cores and the secret, and nobody else's command line") {
    const tests::ScratchFolder folder;
    LocalRanks ranks;
    ranks.size = 2;
    ranks.threads_per_rank = 3;
    ranks.secret = comm::Secret("hush");
    ranks.command = {"sh", "-c",
                     "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR "
                     "$OMP_NUM_THREADS $LOCKSTEP_THREADS $LOCKSTEP_SECRET $OTHER > " +
                         folder / "$RANK"};
    auto base = comm::process_environment();
    base["OTHER"] = "kept";
    base["RANK"] = "17";
    const auto processes = local_ranks(ranks, base);
    REQUIRE(processes.size() == 2);
    const int port = std::stoi(processes[0].environment.at("MASTER_PORT"));
    CHECK(port > 0);
    CHECK(processes[1].environment.at("MASTER_PORT") == std::to_string(port));
    for (const auto& word : processes[0].command) CHECK(word.find("hush") == std::string::npos);
    CHECK(run_process_group(processes, quick()).failed_rank == -1);
    CHECK(tests::read_text(folder / "0") == "0 0 2 2 127.0.0.1 3 3 hush kept\n");
    CHECK(tests::read_text(folder / "1") == "1 1 2 2 127.0.0.1 3 3 hush kept\n");
}

TEST_CASE("children start with the signals that this process had, not with the group's") {
    const tests::ScratchFolder folder;
    const auto result = run_process_group(
        {shell("grep SigBlk /proc/self/status > " + folder / "blocked")}, quick());
    CHECK(result.failed_rank == -1);
    CHECK(tests::read_text(folder / "blocked").find("0000000000000000") != std::string::npos);
}

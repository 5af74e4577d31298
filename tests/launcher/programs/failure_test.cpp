// SPDX-License-Identifier: Apache-2.0
// Faults from outside, under each launcher, rank 0 as well as another: the others end soon, nothing
// stays behind, and one report names the victim.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/launcher/programs/disturbed_run.hpp"
#include "tests/support/needs.hpp"

using namespace lockstep::tests;

namespace {

enum class Fault { killed, stopped, damaged_shard, no_memory };

const char* name(Fault fault) {
    switch (fault) {
        case Fault::killed:
            return "killed";
        case Fault::stopped:
            return "stopped";
        case Fault::damaged_shard:
            return "damaged shard";
        case Fault::no_memory:
            return "no memory";
    }
    return "";
}

struct Launcher {
    const char* name;
    std::string command;
};

const std::string bare = "bare ranks";

std::vector<Launcher> launchers() {
    return {{"multiprocessing_train", "multiprocessing_train --distributed-world-size 3"},
            {"distributed_launch", "distributed_launch --nproc-per-node 3 distributed_train"},
            {"mpirun", "mpirun --oversubscribe -np 3 distributed_train"},
            {bare.c_str(), "bash tests/launcher/programs/bare_ranks.sh 3 "}};
}

struct Case {
    Launcher launcher;
    Fault fault;
    int victim;
    DisturbedEnd end;
};

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    int port = 29100;
    for (Launcher launcher : launchers()) {
        for (const Fault fault :
             {Fault::stopped, Fault::damaged_shard, Fault::no_memory, Fault::killed}) {
            for (const int victim : {0, 1}) {
                cases.push_back({launcher, fault, victim, {}});
                if (launcher.name != bare) continue;
                cases.back().launcher.command += std::to_string(port += 20) + " distributed_train";
            }
        }
    }
    return cases;
}

// Everything behind the file's first part, in place.
void damage(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(path);
    file.seekp(static_cast<std::streamoff>(size / 10));
    file << std::string(size / 10 * 9, '\xAA');
}

// Messages that were not read make the end of the process reset its connections, so that rank 0 may
// hope that it comes back; and mpirun ends all ranks a second later.
void kill_before_it_reads(pid_t victim) {
    kill(victim, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    kill(victim, SIGKILL);
}

void disturb(Fault fault, pid_t victim, const std::string& shard) {
    constexpr rlimit nothing_more{1 << 20, 1 << 20};
    switch (fault) {
        case Fault::killed:
            kill_before_it_reads(victim);
            break;
        case Fault::stopped:
            kill(victim, SIGSTOP);
            break;
        case Fault::damaged_shard:
            damage(shard);
            break;
        case Fault::no_memory:
            prlimit(victim, RLIMIT_DATA, &nothing_more, nullptr);
            break;
    }
}

void run(Case& one, const DisturbedData& data) {
    // Ranks of a busy machine may take longer to find each other than the time-out of other tests.
    DisturbedRun faulty(data, one.launcher.command, " --timeout 15");
    std::string shard;
    if (one.fault == Fault::damaged_shard) {
        shard =
            faulty.damageable_data() + "/train-0000" + std::to_string(one.victim) + "-of-00003.h5";
    }
    one.end = faulty.run([&](const RunningJob& job) {
        const pid_t victim = job.process_of(one.victim);
        if (victim <= 0) return void(kill(job.launcher(), SIGKILL));  // told of as another end
        disturb(one.fault, victim, shard);
        // Nobody ends a stopped rank here: it must end itself when it wakes.
        if (one.fault != Fault::stopped || one.launcher.name != bare) return;
        while (job.processes() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        kill(victim, SIGCONT);
    });
}

// Some at a time: most of a run is waiting.
void run_all(std::vector<Case>& cases, const DisturbedData& data) {
    constexpr std::size_t at_a_time = 4;
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < at_a_time; ++i) {
        threads.emplace_back([&] {
            for (std::size_t one = next++; one < cases.size(); one = next++) run(cases[one], data);
        });
    }
}

std::string tail(const std::string& text) {
    constexpr std::size_t most = 2000;
    return text.size() <= most ? text : "..." + text.substr(text.size() - most);
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

void check_report(const DisturbedEnd& end, int victim) {
    CHECK(count(end.result.out, "the run has failed") == 1);
    REQUIRE(end.failure.is_object());
    CHECK(end.failure["rank"] == victim);
    CHECK(end.failure["ranks"].size() == 3);
    CHECK(end.failure["host"] != "");
    CHECK(end.failure["step"] > 0);
    CHECK(end.failure["phase"] != "");
    CHECK(end.failure["since"] != "");
}

void check_cause(const DisturbedEnd& end, Fault fault, int victim) {
    const std::string cause = end.failure["cause"], error = end.failure["error"];
    CAPTURE(error);
    switch (fault) {
        case Fault::killed:
            CHECK(cause == "lost");
            break;
        case Fault::stopped:
            CHECK(cause == "silent");
            break;
        case Fault::damaged_shard:
            CHECK(cause == "failed");
            CHECK(end.failure["phase"] == "reading data");
            CHECK(error.find("train-0000" + std::to_string(victim)) != std::string::npos);
            break;
        case Fault::no_memory:
            // The rank says so itself, unless a library did not survive it.
            CHECK((cause == "failed" || cause == "lost"));
            if (cause == "failed") CHECK(error.find("memory") != std::string::npos);
            break;
    }
}

void check_codes(const Case& one) {
    const ProgramResult& result = one.end.result;
    if (one.launcher.name == std::string("mpirun")) {
        CHECK(result.code != 0);  // which of them it passes on is its own choice
    } else if (one.launcher.name != bare) {
        CHECK(result.code == (one.fault == Fault::stopped ? 3 : 1));
    } else {
        CHECK(count(result.out, " code 3\n") == (one.fault == Fault::stopped ? 3 : 2));
        CHECK(count(result.out, " code 0\n") == 0);
        CHECK(count(result.out + result.err, "of the ranks at") == 0);  // the secret
    }
}

}  // namespace

TEST_CASE("whatever happens to one of three ranks, the others end, and the report names it") {
    const DisturbedData data;
    std::vector<Case> cases = all_cases();
    run_all(cases, data);
    for (const Case& one : cases) {
        const DisturbedEnd& end = one.end;
        CAPTURE(one.launcher.name);
        CAPTURE(name(one.fault));
        CAPTURE(one.victim);
        const std::string out = tail(end.result.out);
        CAPTURE(out);
        CAPTURE(end.result.err);
        std::printf(
            "%-21s  %-13s  rank %d: code %3d after %4.1f s, %s\n", one.launcher.name,
            name(one.fault), one.victim, end.result.code, end.seconds,
            end.failure.is_object() ? end.failure.value("report", "").c_str() : "no report");
        REQUIRE(end.started);
        CHECK(end.left_behind == 0);
        check_report(end, one.victim);
        check_cause(end, one.fault, one.victim);
        check_codes(one);
    }
}

TEST_CASE("a rank whose data never comes is named, with the stack of its main thread") {
    const DisturbedData data;
    DisturbedRun faulty(data, launchers().front().command);
    faulty.environment("LD_PRELOAD", build_bin() + "/libstalled_reads.so");
    faulty.environment("STALLED_READS", faulty.flag());
    faulty.environment("STALLED_RANK", "1");
    const DisturbedEnd end =
        faulty.run([&](const RunningJob&) { write_text(faulty.flag(), "now"); });
    const std::string out = tail(end.result.out);
    CAPTURE(out);
    CAPTURE(end.result.err);
    REQUIRE(end.started);
    CHECK(end.left_behind == 0);
    check_report(end, 1);
    CHECK(end.failure["cause"] == "stuck");
    CHECK(end.failure["phase"] == "reading data");
    CHECK(end.failure["stack"].dump().find("lockstep::train::Trainer::run") != std::string::npos);
}

TEST_CASE("a rank whose network is cut is named, rank 0 as well as another" *
          doctest::test_suite(needs_networks)) {
    const DisturbedData data;
    std::vector<DisturbedEnd> ends(2);
    {
        std::vector<std::jthread> threads;
        for (std::size_t victim = 0; victim < ends.size(); ++victim) {
            threads.emplace_back([&, victim] {
                ends[victim] = DisturbedRun(data, "distributed_train")
                                   .run_by("bash tests/launcher/programs/cut_network.sh " +
                                           std::to_string(victim));
            });
        }
    }
    for (int victim = 0; victim < static_cast<int>(ends.size()); ++victim) {
        const DisturbedEnd& end = ends[static_cast<std::size_t>(victim)];
        CAPTURE(victim);
        const std::string out = tail(end.result.out);
        CAPTURE(out);
        CAPTURE(end.result.err);
        check_report(end, victim);
        CHECK(end.failure["cause"] == "silent");
        CHECK(count(end.result.out, " code 3\n") >= 2);
        CHECK(count(end.result.out, " code 0\n") == 0);
    }
}

TEST_CASE("multiprocessing_train ends by itself where the loopback network is gone" *
          doctest::test_suite(needs_networks)) {
    const DisturbedData data;
    const DisturbedEnd end = DisturbedRun(data, launchers().front().command)
                                 .run_by("bash tests/launcher/programs/cut_loopback.sh");
    const std::string out = tail(end.result.out);
    CAPTURE(out);
    CAPTURE(end.result.err);
    CHECK(end.result.code == 1);  // rank 0's: it is the one that nobody hears
    check_report(end, 0);
    CHECK(end.failure["cause"] == "silent");
}

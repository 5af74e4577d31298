// SPDX-License-Identifier: Apache-2.0
// Signals ask ranks to stop, or slow one of them.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/launcher/programs/disturbed_run.hpp"

using namespace lockstep::tests;

namespace {

constexpr int the_launcher = -1;

struct Request {
    std::string launcher;
    int signal;
    int to;  // a rank, or the_launcher
    DisturbedEnd stopped, continued;
};

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

// The last step that the run told of, or continued from.
std::string number_after(const std::string& text, std::size_t at, const std::string& word) {
    const auto begin = at + word.size();
    return text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
}

void wait_for(const RunningJob& job, const std::string& text) {
    const auto longest = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (job.output().find(text) == std::string::npos &&
           std::chrono::steady_clock::now() < longest)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// Twice, as the second run continues the first.
void make(Request& request, const DisturbedData& data) {
    const DisturbedRun run(data, request.launcher);
    const auto stop = [&](const RunningJob& job) {
        wait_for(job, "\nstep ");
        const pid_t rank = request.to == the_launcher ? 0 : job.process_of(request.to);
        kill(rank > 0 ? rank : job.launcher(), request.signal);
    };
    request.stopped = run.run(stop);
    request.continued = run.run(stop);
}

// Stops the process for most of the time, so that it computes slowly and stays as it is.
void slow_down_for_a_moment(pid_t process) {
    using namespace std::chrono_literals;
    kill(process, SIGSTOP);
    std::this_thread::sleep_for(40ms);
    kill(process, SIGCONT);
    std::this_thread::sleep_for(20ms);
}

}  // namespace

TEST_CASE("a request to stop that one rank sees is obeyed by all, at the same step") {
    const std::string group = "multiprocessing_train --distributed-world-size 3";
    const std::string launch = "distributed_launch --nproc-per-node 3 distributed_train";
    const std::string mpi = "mpirun --oversubscribe -np 3 distributed_train";
    const std::string bare = "bash tests/launcher/programs/bare_ranks.sh 3 29400 distributed_train";
    std::vector<Request> requests = {
        {group, SIGTERM, 2, {}, {}},
        {group, SIGTERM, the_launcher, {}, {}},
        {group, SIGUSR1, 1, {}, {}},
        {mpi, SIGTERM, 1, {}, {}},
        {mpi, SIGUSR1, the_launcher, {}, {}},
        {mpi, SIGUSR1, 2, {}, {}},
        {bare, SIGTERM, 2, {}, {}},
        {group, SIGUSR2, the_launcher, {}, {}},
        {group, SIGXCPU, 1, {}, {}},
        {group, SIGHUP, 1, {}, {}},
        {group, SIGHUP, the_launcher, {}, {}},
        {launch, SIGHUP, the_launcher, {}, {}},
    };
    const DisturbedData data;
    {
        std::vector<std::jthread> threads;
        for (Request& request : requests) threads.emplace_back([&] { make(request, data); });
    }
    for (const Request& request : requests) {
        const DisturbedEnd& stopped = request.stopped;
        CAPTURE(request.launcher);
        CAPTURE(request.signal);
        CAPTURE(request.to);
        CAPTURE(stopped.result.out);
        CAPTURE(stopped.result.err);
        REQUIRE(stopped.started);
        CHECK(stopped.result.code == 0);
        CHECK(stopped.failure.is_null());
        CHECK(stopped.left_behind == 0);
        CHECK(count(stopped.result.out, "a checkpoint is saved") == 1);
        CHECK(count(stopped.result.out, " code 0\n") == count(stopped.result.out, " code "));
        const auto last = stopped.result.out.rfind("\nstep ");
        REQUIRE(last != std::string::npos);
        const std::string step = number_after(stopped.result.out, last, "\nstep ");
        const std::string& continued = request.continued.result.out;
        CHECK(continued.find("continuing after step " + step + " ") != std::string::npos);
    }
}

// The validation after step 3 takes many times longer than the test's time-out allows for a stop
// that waits for it.
TEST_CASE("a request to stop does not wait for a validation, which the next start makes") {
    const ScratchFolder scratch;
    const std::string data = scratch / "data", text = "examples/shakespeare/train.txt";
    REQUIRE(run_line("lockstep prepare --input " + text + " --valid " + text + " --out " + data +
                     " --dict-maxtokens 300")
                .code == 0);
    const std::string replies = " --skip-generation false --max-length 400 --beam-min-length 390";
    for (const std::string start : {"train", "multiprocessing_train --distributed-world-size 2"}) {
        const std::string model = scratch / start.substr(0, 5);
        const std::string line = start + " --data " + data + " -mf " + model + tiny_model +
                                 " --max-train-steps 4 --validation-every-n-steps 3";
        const auto validated_at = [&](const std::string& step) {
            return read_text(model + "/metrics.jsonl").find("\"valid\",\"step\":" + step) !=
                   std::string::npos;
        };
        CAPTURE(start);
        RunningJob job(line + replies, model);
        wait_for(job, "\nstep 3 ");
        kill(job.launcher(), SIGTERM);
        const ProgramResult stopped = job.wait();
        CAPTURE(stopped.out);
        CHECK(stopped.code == 0);
        CHECK(count(stopped.out, "a checkpoint is saved") == 1);
        CHECK_FALSE(validated_at("3"));
        const ProgramResult continued = run_line(line + " --skip-generation true");
        CAPTURE(continued.err);
        CHECK(continued.code == 0);
        CHECK(continued.out.find("continuing after step 3 ") != std::string::npos);
        CHECK(validated_at("3"));
    }
}

TEST_CASE("a rank that is slowed from outside is named, once, with its host and phase") {
    const DisturbedData data;
    const DisturbedRun run(data, "multiprocessing_train --distributed-world-size 2",
                           " --embedding-size 128 --n-heads 2 --ffn-size 512 --n-layers 2 -bs 48"
                           " --label-truncate 64 --text-truncate 64");
    const std::string named = "rank 1 on ";
    const DisturbedEnd end = run.run([&](const RunningJob& job) {
        const pid_t victim = job.process_of(1);
        const auto windows = [&] { return count(job.output(), "0 | epoch "); };
        const auto slow_until = [&](const auto& reached) {
            const auto longest = std::chrono::steady_clock::now() + std::chrono::minutes(20);
            while (!reached() && std::chrono::steady_clock::now() < longest)
                slow_down_for_a_moment(victim);
        };
        slow_until([&] { return count(job.output(), "holds up the others") > 0; });
        const int before = windows();
        slow_until([&] { return windows() >= before + 6; });  // into the next window of 50 steps
        kill(job.launcher(), SIGTERM);
    });
    CAPTURE(end.result.out);
    REQUIRE(end.started);
    CHECK(end.result.code == 0);
    CHECK(count(end.result.out, "holds up the others") == 1);
    const auto line = end.result.out.find(named);
    REQUIRE(line != std::string::npos);
    const std::string told = end.result.out.substr(line, end.result.out.find('\n', line) - line);
    CHECK(told.find("holds up the others: it worked ") != std::string::npos);
    CHECK(told.find("mostly longer in forward and backward") != std::string::npos);
}

// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/restarts.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

// Attempts with given results, and what was said about them.
struct Attempts {
    std::vector<GroupResult> results;
    std::vector<int> restarts;
    int made = 0;

    GroupResult run(int max_restarts) {
        return run_with_restarts(
            [&](int attempt) {
                CHECK(attempt == made);
                return results.at(static_cast<std::size_t>(made++));
            },
            {max_restarts, 0, nullptr},
            [&](const GroupResult&, const AfterFailure& after) {
                restarts.push_back(after.restart);
            });
    }
};

// A run whose attempts all fail. `saved` tells the newest checkpoint after each of them.
struct Failing {
    std::vector<std::string> saved;
    int attempts = 0;
    std::vector<AfterFailure> after;

    RestartPolicy policy(int max_restarts, int pause_ms) {
        return {max_restarts, pause_ms, [this] {
                    return attempts == 0 ? "" : saved.at(static_cast<std::size_t>(attempts - 1));
                }};
    }
    void run(const RestartPolicy& policy) {
        const auto attempt = [&](int) {
            ++attempts;
            return GroupResult{0, 1, 0};
        };
        run_with_restarts(attempt, policy, [&](const GroupResult&, const AfterFailure& each) {
            after.push_back(each);
        });
    }
};

}  // namespace

TEST_CASE("a failed group starts again until it succeeds or no restart is left") {
    const GroupResult failure{1, 9, 0}, success;
    Attempts recovers{{failure, failure, success}, {}, 0};
    CHECK(recovers.run(5).failed_rank == -1);
    CHECK(recovers.restarts == std::vector{1, 2});
    Attempts fails{{failure, failure, failure}, {}, 0};
    CHECK(fails.run(2).status == 9);
    CHECK(fails.restarts == std::vector{1, 2, 0});
    Attempts once{{failure}, {}, 0};
    CHECK(once.run(0).failed_rank == 1);
}

TEST_CASE("neither a wrong request nor a stop from outside is repeated") {
    Attempts wrong{{{0, 2, 0}}, {}, 0};
    CHECK(wrong.run(3).status == 2);
    CHECK(wrong.restarts == std::vector{0});
    Attempts stopped{{{0, 128 + SIGKILL, SIGTERM}}, {}, 0};
    CHECK(stopped.run(3).signal == SIGTERM);
    CHECK(stopped.restarts == std::vector{0});
}

TEST_CASE("restarts that save nothing come to an end, and those that save do not") {
    Failing stuck{std::vector<std::string>(100, ""), 0, {}};
    const RestartPolicy policy = stuck.policy(99, 0);
    stuck.run(policy);
    CHECK(stuck.attempts == 1 + max_restarts_without_progress);
    CHECK(stuck.after.back().restart == 0);
    CHECK(
        failure_text({0, 1, 0}, stuck.after.back(), policy) ==
        "failed first, with exit code 1; the other ranks were ended. 5 restarts in a row saved no "
        "checkpoint, so no other one is made");
    // The fourth and the ninth attempt save a checkpoint.
    Failing moves{{"", "", "", "a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b", "b"}, 0, {}};
    moves.run(moves.policy(99, 0));
    CHECK(moves.attempts == 9 + 1 + max_restarts_without_progress);
    CHECK(failure_text({0, 1, 0}, moves.after.back(), policy)
              .find("saved no newer checkpoint than b, so") != std::string::npos);
    Failing few{std::vector<std::string>(100, ""), 0, {}};
    few.run(few.policy(2, 0));
    CHECK(few.attempts == 3);
    CHECK_FALSE(few.after.back().no_progress);
}

TEST_CASE("the pause before a restart grows until a checkpoint is saved") {
    Failing run{{"", "", "a", "a", "a", "a"}, 0, {}};
    run.run(run.policy(5, 1));
    std::vector<int> pauses;
    for (const AfterFailure& each : run.after) pauses.push_back(each.pause_ms);
    CHECK(pauses == std::vector{1, 2, 1, 1, 2, 0});
}

TEST_CASE("a failure in words, and as an exit code") {
    const RestartPolicy policy{2, 0, nullptr};
    CHECK(failure_text({4, 5, 0}, {}, policy) ==
          "failed first, with exit code 5; the other ranks were ended");
    CHECK(failure_text({4, 128 + 9, 0}, {1, 0, false, ""}, policy) ==
          "failed first, killed by signal 9; the other ranks were ended, all start again (restart "
          "1 of 2)");
    CHECK(failure_text({4, 5, 0}, {2, 2'000, false, ""}, policy) ==
          "failed first, with exit code 5; the other ranks were ended, all start again in 2 s "
          "(restart 2 of 2)");
    CHECK(exit_code_of({-1, 0, SIGTERM}) == 0);
    CHECK(exit_code_of({0, 3, 0}) == 3);
    CHECK(exit_code_of({0, 128 + 9, 0}) == 1);
}

TEST_CASE("an end at a request is told as such, and not as the failure of a rank") {
    const auto killed = [](int signal, KilledAtRequest why) {
        return GroupResult{0, 128 + SIGKILL, signal, why};
    };
    CHECK(ended_by_request(killed(SIGINT, KilledAtRequest::at_second_interrupt)) ==
          "stopped at once at the second Ctrl-C");
    CHECK(ended_by_request(killed(SIGTERM, KilledAtRequest::when_time_was_over)) ==
          "the ranks had not ended in time after SIGTERM and were killed");
    CHECK(ended_by_request({0, 128 + SIGINT, SIGINT}) == "stopped at once by Ctrl-C");
    CHECK(ended_by_request({0, 1, SIGINT}) == "");
    CHECK(ended_by_request({0, 128 + SIGKILL, 0}) == "");
    CHECK(exit_code_of({0, 3, SIGINT, KilledAtRequest::at_second_interrupt}) == 1);
}

// A rank is killed from outside once a checkpoint exists. The run starts again by itself, and ends
// with the parameters of one that nobody disturbed.
TEST_CASE("multiprocessing_train --max-restarts goes on from the last checkpoint") {
    const ScratchFolder scratch;
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 100);
    REQUIRE(run_line("lockstep prepare --input " + (scratch / "train.txt") + " --out " +
                     (scratch / "data"))
                .code == 0);
    const std::string disturbed = scratch / "disturbed", quiet = scratch / "quiet";
    const std::string train = "multiprocessing_train --distributed-world-size 2 --data " +
                              (scratch / "data") +
                              " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 4"
                              " --max-train-steps 300 --save-every-n-steps 20 --max-restarts 1";
    const ProgramResult whole = run_line(train + " -mf " + quiet);
    REQUIRE_MESSAGE(whole.code == 0, whole.err);
    const ProgramResult run =
        run_program({"bash", "-c",
                     "export PATH=$(dirname $(readlink /proc/$PPID/exe)):$PATH; " + train +
                         " -mf " + disturbed + " & pid=$!; until ls " + disturbed +
                         "/checkpoints/*/manifest.json > " + (scratch / "list") +
                         " 2> /dev/null; do sleep 0.01; done;"
                         " pkill -KILL -n -P $pid; wait $pid"});
    CAPTURE(run.out);
    CHECK_MESSAGE(run.code == 0, run.err);
    CHECK(run.err.find("killed by signal 9; the other ranks were ended, all start again in 1 s "
                       "(restart 1 of 1)") != std::string::npos);
    CHECK(run.out.find("continuing after step") != std::string::npos);
    const std::string last = "/checkpoints/step-00000300/model.safetensors";
    const std::string parameters = read_text(disturbed + last);
    CHECK(parameters.size() > 1000);
    CHECK(parameters == read_text(quiet + last));
}

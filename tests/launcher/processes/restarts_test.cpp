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
            {max_restarts, 0},
            [&](const GroupResult&, int restart) { restarts.push_back(restart); });
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

TEST_CASE("a failure in words, and as an exit code") {
    CHECK(failure_text({4, 5, 0}, 0, {2, 0}) ==
          "failed first, with exit code 5; the other ranks were ended");
    CHECK(failure_text({4, 128 + 9, 0}, 1, {2, 0}) ==
          "failed first, killed by signal 9; the other ranks were ended, all start again (restart "
          "1 of 2)");
    CHECK(exit_code_of({-1, 0, SIGTERM}) == 0);
    CHECK(exit_code_of({0, 3, 0}) == 3);
    CHECK(exit_code_of({0, 128 + 9, 0}) == 1);
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
    CHECK(run.err.find(
              "killed by signal 9; the other ranks were ended, all start again (restart 1 of 1)") !=
          std::string::npos);
    CHECK(run.out.find("continuing after step") != std::string::npos);
    const std::string last = "/checkpoints/step-00000300/model.safetensors";
    const std::string parameters = read_text(disturbed + last);
    CHECK(parameters.size() > 1000);
    CHECK(parameters == read_text(quiet + last));
}

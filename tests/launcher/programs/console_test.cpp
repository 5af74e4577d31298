// SPDX-License-Identifier: Apache-2.0
// Runs that lose what they print to: a pipe whose reader ends, a terminal that is closed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/launcher/programs/disturbed_run.hpp"

using namespace lockstep::tests;

namespace {

// Each of them prints by itself or forwards what its ranks print.
const std::vector<std::string> starts = {
    "train",
    "multiprocessing_train --distributed-world-size 2",
    "distributed_launch --nproc-per-node 2 distributed_train",
    "distributed_launch --nproc-per-node 2 --tee 3 distributed_train",
};

struct Ended {
    std::string start;
    ProgramResult result;
    bool saved = false;
};

// Runs `script` for each start at once. $RUN is the command and $MODEL its folder.
std::vector<Ended> all_ended(const DisturbedData& data, const std::string& options,
                             const std::string& script) {
    std::vector<Ended> all;
    for (const std::string& start : starts) all.push_back({start, {}, false});
    std::vector<std::jthread> threads;
    for (Ended& each : all) {
        threads.emplace_back([&] {
            const ScratchFolder scratch;
            const std::string model = scratch / "model";
            const std::string run =
                each.start + " --data " + data.path() + " -mf " + model + tiny_model + options;
            const std::string path = build_bin() + ":" + getenv("PATH");
            each.result = run_program({"bash", "-c", script},
                                      {"", {{"RUN", run}, {"MODEL", model}, {"PATH", path}}, ""});
            each.saved = std::filesystem::exists(model + "/checkpoints");
        });
    }
    threads.clear();
    return all;
}

}  // namespace

TEST_CASE("a run goes on to its end when nobody reads its lines any more") {
    const DisturbedData data;
    const auto all =
        all_ended(data, " --max-train-steps 200", "$RUN 2>&1 | head -n 1; exit ${PIPESTATUS[0]}");
    for (const Ended& each : all) {
        CAPTURE(each.start);
        CAPTURE(each.result.out);
        CHECK(each.result.code == 0);
        CHECK(each.saved);
    }
}

// Ctrl-C ends all programs of `train | tee log` at once.
TEST_CASE("Ctrl-C saves a checkpoint although the reader of the lines ends first") {
    const DisturbedData data;
    const auto all = all_ended(data, "",
                               "mkfifo $MODEL.pipe; head -n 20 < $MODEL.pipe & reader=$!\n"
                               "$RUN > $MODEL.pipe 2>&1 & run=$!\n"
                               "wait $reader; kill -INT $run; wait $run");
    for (const Ended& each : all) {
        CAPTURE(each.start);
        CAPTURE(each.result.out);
        CHECK(each.result.code == 0);
        CHECK(each.saved);
    }
}

TEST_CASE("a run that nohup started does not stop when the terminal is closed") {
    const DisturbedData data;
    const auto all = all_ended(data, " --max-train-steps 400",
                               "nohup $RUN > $MODEL.log 2>&1 & run=$!\n"
                               "until grep -q '^step\\|] step' $MODEL.log; do sleep 0.02; done\n"
                               "kill -HUP $run; wait $run; code=$?; cat $MODEL.log; exit $code");
    for (const Ended& each : all) {
        CAPTURE(each.start);
        CAPTURE(each.result.out);
        CHECK(each.result.code == 0);
        CHECK(each.result.out.find("the number of steps is reached") != std::string::npos);
    }
}

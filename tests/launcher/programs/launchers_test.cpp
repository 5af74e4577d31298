// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Two launchers, as on two hosts, of two ranks that train; `meanwhile` is shell that runs beside
// them and knows $node1, the second launcher.
ProgramResult two_launchers(const ScratchFolder& scratch, const std::string& options,
                            const std::string& training, const std::string& meanwhile) {
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 60);
    const auto prepared = run_line("lockstep prepare --input " + (scratch / "train.txt") +
                                   " --out " + (scratch / "data"));
    REQUIRE_MESSAGE(prepared.code == 0, prepared.err);
    const std::string launch = "distributed_launch --nnodes 2 --master-addr 127.0.0.1 " + options +
                               " --master-port $port --node-rank ";
    const std::string train = " distributed_train --data " + (scratch / "data") + " -mf " +
                              (scratch / "model") +
                              " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1"
                              " -bs 4 --timeout 60 " +
                              training;
    return run_program(
        {"bash", "-c",
         "export PATH=$(dirname $(readlink /proc/$PPID/exe)):$PATH; port=$((20000 + $$ % 30000));" +
             launch + "1" + train + " & node1=$!; " + launch + "0" + train + " & node0=$!; " +
             meanwhile + "wait $node1 && wait $node0"});
}

}  // namespace

TEST_CASE("launchers on several hosts need nothing but rank 0's store") {
    const ScratchFolder scratch;
    const auto run = two_launchers(scratch, "--nproc-per-node 2", "--max-train-steps 3", "");
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(contains(run.out, "on 4 ranks"));
    CHECK(contains(run.out, "training ended"));
}

TEST_CASE("a rank killed under one launcher starts the ranks of both again") {
    const ScratchFolder scratch;
    const auto run =
        two_launchers(scratch, "--max-restarts 3", "--max-train-steps 300 --save-every-n-steps 20",
                      "until ls " + (scratch / "model") +
                          "/checkpoints/*/manifest.json > /dev/null 2>&1; do sleep 0.01; done;"
                          " pkill -KILL -P $node1; ");
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(contains(run.err, "rank 1 (local rank 0 on "));
    CHECK(contains(run.err, "killed by signal 9; the other ranks were ended, all start again"));
    CHECK(contains(run.err, "rank 0 (local rank 0 on "));
    CHECK(contains(run.out, "continuing after step"));
    CHECK(contains(run.out, "training ended"));
}

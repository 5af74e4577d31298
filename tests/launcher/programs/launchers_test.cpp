// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;

namespace {

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

TEST_CASE("a secret file that others may read is told once, before anything starts") {
    const ScratchFolder scratch;
    const std::string file = scratch / "secret";
    write_text(file, "0123456789abcdef0123456789abcdef\n");
    std::filesystem::permissions(file, std::filesystem::perms(0640));
    const std::string options =
        " --data none -mf " + (scratch / "model") + " --num-epochs 1 --secret-file " + file;
    const auto together = run_line("multiprocessing_train --distributed-world-size 3" + options);
    CHECK(together.code == 2);
    CHECK(together.err ==
          "multiprocessing_train: --secret-file " + file +
              ": others can read or change it, and may know this secret; make a new one and type "
              "chmod 600 " +
              file + "\n");
    for (const char* local_rank : {"0", "1"}) {
        const auto rank = run_line("distributed_train" + options, {"",
                                                                   {{"RANK", local_rank},
                                                                    {"LOCAL_RANK", local_rank},
                                                                    {"WORLD_SIZE", "2"},
                                                                    {"LOCAL_WORLD_SIZE", "2"},
                                                                    {"MASTER_ADDR", "127.0.0.1"},
                                                                    {"MASTER_PORT", "1"}},
                                                                   ""});
        CAPTURE(rank.err);
        CHECK(rank.code == 2);
        CHECK(contains(rank.err, "chmod 600") == (std::string(local_rank) == "0"));
        CHECK(rank.err.empty() == (std::string(local_rank) == "1"));
    }
    CHECK_FALSE(std::filesystem::exists(scratch / "model"));
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

namespace {

const std::string shape = " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 4";

// Runs `program` as two ranks started by hand, each with options of its own. The exit code is that
// of rank 0 times ten plus that of rank 1.
ProgramResult two_by_hand(const std::string& folder, const std::string& program,
                          const std::string& rank_0, const std::string& rank_1) {
    const std::string command = program +
                                " --world-size 2 --master-addr localhost --timeout 60"
                                " --master-port $port ";
    return run_program(
        {"bash", "-c",
         "export PATH=$(dirname $(readlink /proc/$PPID/exe)):$PATH; port=$((20000 + $$ % 30000));" +
             command + "--rank 1 " + rank_1 + " & one=$!; " + command + "--rank 0 " + rank_0 +
             "; zero=$?; wait $one; exit $((10 * zero + $?))"},
        {"", {}, folder});
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

// Prepares data in the scratch folder, in which the programs then run.
void prepare(const ScratchFolder& scratch) {
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 60);
    const auto run = run_line("lockstep prepare --input " + (scratch / "train.txt") + " --valid " +
                              (scratch / "train.txt") + " --out " + (scratch / "data"));
    REQUIRE_MESSAGE(run.code == 0, run.err);
}

}  // namespace

TEST_CASE("ranks with different options end together, each with one line that names the option") {
    const ScratchFolder scratch;
    prepare(scratch);
    const std::string train = "distributed_train --data data --max-train-steps 2" + shape;
    const auto refused = [&](const std::string& program, const std::string& zero,
                             const std::string& one, const std::string& line) {
        const auto run = two_by_hand(scratch / "", program, zero, one);
        CAPTURE(run.out);
        CAPTURE(run.err);
        CHECK(run.code == 22);
        CHECK(count(run.err, line + "; give all ranks") == 2);
        CHECK(count(run.err, "\n") == 2);
        CHECK_FALSE(contains(run.out, "training ended"));
    };
    refused(train, "-mf m -lr 1e-3", "-mf m -lr 5e-2",
            "--learningrate: 0.001 on rank 0, but 0.05 on rank 1");
    refused(train + " -mf m", "-opt adam", "-opt lion",
            "--optimizer: adam on rank 0, but lion on rank 1");
    refused(train, "-mf m", "-mf other", "--model-file: m on rank 0, but other on rank 1");
    const std::string absolute = "-mf " + (scratch / "m") + " --num-workers 2 --verbose";
    const auto same =
        two_by_hand(scratch / "", train, "-mf m -lr 0.05 --trace t", absolute + " -lr 5e-2");
    CHECK_MESSAGE(same.code == 0, same.err);
    // It repeats the default, but the checkpoint has another value, which rank 0 takes.
    const std::string more = "distributed_train --max-train-steps 4 -mf m";
    refused(more, "", "-lr 1e-3", "--learningrate: 0.05 on rank 0, but 0.001 on rank 1");
    const auto continued = two_by_hand(scratch / "", more, "", "");
    CHECK_MESSAGE(continued.code == 0, continued.err);
    refused("distributed_eval -mf m", "", "-bs 3", "--batchsize: 32 on rank 0, but 3 on rank 1");
}

TEST_CASE("ranks of MPI compare their options, too") {
    const ScratchFolder scratch;
    prepare(scratch);
    const std::string rank = " -np 1 " + program_path("lockstep") + " distributed_train --data " +
                             (scratch / "data") + " -mf " + (scratch / "m") + shape +
                             " --max-train-steps 2 --timeout 60 --seed ";
    const auto run =
        run_line("mpirun --allow-run-as-root --oversubscribe" + rank + "1 :" + rank + "2");
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(contains(run.err, "--seed: 1 on rank 0, but 2 on rank 1"));
}

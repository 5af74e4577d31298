// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
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

namespace {

using Variables = std::map<std::string, std::string>;

Variables operator+(Variables a, const Variables& b) {
    for (const auto& [key, value] : b) a[key] = value;
    return a;
}

// A shell by srun -n4 --pty bash on this host.
const Variables step_shell = {{"SLURM_JOB_ID", "42"},        {"SLURM_STEP_ID", "0"},
                              {"SLURM_PROCID", "0"},         {"SLURM_NTASKS", "4"},
                              {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "0"},
                              {"SLURM_NODEID", "0"},         {"SLURM_STEP_TASKS_PER_NODE", "4"},
                              {"SLURM_STEP_NODELIST", "a"},  {"SLURM_PTY_PORT", "40000"},
                              {"SLURM_TASK_PID", "1"}};

// Two ranks by PyTorch's env:// in the current folder, each with words of its own. The exit code is
// as of two_by_hand().
ProgramResult two_by_variables(const std::string& folder, const std::string& rank_0,
                               const std::string& rank_1, const Variables& more) {
    const std::string command =
        " distributed_train --data data --max-train-steps 2 --timeout 60 -mf m" + shape + " ";
    return run_program(
        {"bash", "-c",
         "export PATH=$(dirname $(readlink /proc/$PPID/exe)):$PATH WORLD_SIZE=2 "
         "MASTER_PORT=$((20000 + $$ % 30000)); RANK=1 " +
             rank_1.substr(0, rank_1.find(';')) + command + rank_1.substr(rank_1.find(';') + 1) +
             " & one=$!; RANK=0 " + rank_0.substr(0, rank_0.find(';')) + command +
             rank_0.substr(rank_0.find(';') + 1) +
             "; zero=$?; wait $one; exit $((10 * zero + $?))"},
        {"", more, folder});
}

}  // namespace

TEST_CASE("PyTorch's env:// needs no LOCAL_RANK, and blanks around its address do not count") {
    const ScratchFolder scratch;
    prepare(scratch);
    for (const std::string address : {"127.0.0.1", "LocalHost", " 127.0.0.1\r"}) {
        CAPTURE(address);
        const auto run = two_by_variables(scratch / "", ";", ";", {{"MASTER_ADDR", address}});
        CHECK_MESSAGE(run.code == 0, run.err);
        CHECK(contains(run.out, "on 2 ranks"));
        std::filesystem::remove_all(scratch / "m");
    }
    const auto alone = run_line("distributed_train --data data --max-train-steps 1 -mf a" + shape,
                                {"",
                                 {{"RANK", "0"},
                                  {"WORLD_SIZE", "1"},
                                  {"MASTER_ADDR", "localhost"},
                                  {"MASTER_PORT", "29500"}},
                                 scratch / ""});
    CHECK_MESSAGE(alone.code == 0, alone.err);
}

TEST_CASE("a rank 0 that cannot start tells ranks that do not know their local ranks") {
    const ScratchFolder scratch;
    prepare(scratch);
    const auto run = two_by_variables(scratch / "", ";--n-heads 3", ";--n-heads 3",
                                      {{"MASTER_ADDR", "127.0.0.1"}});
    CHECK_MESSAGE(run.code == 22, run.err);
    CHECK(count(run.err, "\n") == 1);
}

TEST_CASE("the local rank may be an argument, before or behind the program's name") {
    const ScratchFolder scratch;
    prepare(scratch);
    const auto run = two_by_variables(scratch / "", ";--local_rank=0", ";--local-rank 1",
                                      {{"MASTER_ADDR", "127.0.0.1"}});
    CHECK_MESSAGE(run.code == 0, run.err);
    std::filesystem::remove_all(scratch / "m");
    const std::string train = " distributed_train --data data --max-train-steps 1 -mf m" + shape;
    const Variables rank = {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "1"}};
    CHECK(run_line("lockstep --local_rank=0" + train, {"", rank, scratch / ""}).code == 0);
    const auto wrong = run_line("lockstep --local-rank=3" + train, {"", rank, scratch / ""});
    CHECK(wrong.code == 2);
    CHECK(contains(wrong.err, "--local-rank 3 contradicts torchrun, which says LOCAL_RANK=0"));
    std::filesystem::remove_all(scratch / "m");
    const auto launched = run_line("distributed_launch --nproc-per-node 2 --use-env false" + train,
                                   {"", {}, scratch / ""});
    CHECK_MESSAGE(launched.code == 0, launched.err);
    CHECK(contains(launched.out, "on 2 ranks"));
}

TEST_CASE("programs that start their own ranks do so in a shell that is a task of a step") {
    const ScratchFolder scratch;
    prepare(scratch);
    const std::string train = " --data data --max-train-steps 1 -mf ";
    const auto trains = [&](const std::string& line, const Variables& variables, int ranks) {
        CAPTURE(line);
        const auto run = run_line(line, {"", variables, scratch / ""});
        CHECK_MESSAGE(run.code == 0, run.err);
        CHECK(contains(run.out, "on " + std::to_string(ranks) + " rank"));
    };
    const Variables left_over = {{"PMIX_NAMESPACE", "job"},
                                 {"PMIX_RANK", "1"},
                                 {"PMIX_SERVER_URI2", "a.0;tcp4://127.0.0.1:1"},
                                 {"OMPI_COMM_WORLD_SIZE", "4"},
                                 {"OMPI_COMM_WORLD_RANK", "3"},
                                 {"TORCHELASTIC_RUN_ID", "outer"},
                                 {"PET_NPROC_PER_NODE", "7"}};
    trains("train" + train + "a" + shape, step_shell, 1);
    trains("multiprocessing_train --distributed-world-size 2" + train + "b" + shape, step_shell, 2);
    trains("distributed_launch --nproc-per-node 2 distributed_train" + train + "c" + shape,
           step_shell, 2);
    trains("distributed_launch --nproc-per-node 1 multiprocessing_train --world-size 2" + train +
               "d" + shape,
           step_shell + left_over, 2);
    trains("train" + train + "e" + shape, left_over, 1);
}

TEST_CASE("a program of one rank that a launcher started twice says which one to type") {
    const ScratchFolder scratch;
    const std::string words = " --data data -mf " + (scratch / "m") + " --num-epochs 1";
    const auto refused = [&](const std::string& line, const Variables& variables,
                             const std::string& said) {
        CAPTURE(line);
        const auto run = run_line(line, {"", variables, ""});
        CHECK(run.code == 2);
        CHECK_MESSAGE(contains(run.err, said), run.err);
        CHECK(count(run.err, "\n") == 1);
    };
    const Variables ranks = {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}};
    Variables step = step_shell;
    step.erase("SLURM_PTY_PORT");
    refused("train" + words, {{"OMPI_COMM_WORLD_SIZE", "2"}},
            "2 ranks were started: type distributed_train");
    refused("train_model" + words, ranks, "2 ranks were started: type distributed_train");
    refused("multiprocessing_train" + words, step, "4 ranks were started: type distributed_train");
    refused("eval_model -mf none", ranks, "2 ranks were started: type distributed_eval");
    refused("multiprocessing_eval -mf none", ranks, "2 ranks were started: type distributed_eval");
    refused("lockstep ladder --data none", ranks, "2 ranks were started, and its runs");
    const Variables hosts = {{"SM_HOSTS", "[\"algo-1\",\"algo-2\"]"}};
    refused("train" + words, hosts,
            "2 hosts were started: type distributed_launch distributed_train");
    CHECK(run_line("train --help", {"", ranks, ""}).code == 0);
    CHECK_FALSE(std::filesystem::exists(scratch / "m"));
    const auto mpi = run_line("mpirun --allow-run-as-root --oversubscribe -np 2 " +
                              program_path("lockstep") + " train" + words);
    CHECK(mpi.code == 2);
    CHECK(contains(mpi.err, "2 ranks were started: type distributed_train"));
}

TEST_CASE("two launches at torchrun's localhost:0 do not collide") {
    const ScratchFolder scratch;
    prepare(scratch);
    const std::string launch =
        "distributed_launch --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --nnodes=1 "
        "--nproc-per-node=2 distributed_train --data data --max-train-steps 2" +
        shape + " -mf ";
    const auto run = run_program({"bash", "-c",
                                  "export PATH=$(dirname $(readlink /proc/$PPID/exe)):$PATH; " +
                                      launch + "a & one=$!; " + launch + "b && wait $one"},
                                 {"", {}, scratch / ""});
    CHECK_MESSAGE(run.code == 0, run.err);
    CHECK(count(run.out, "on 2 ranks") == 2);
}

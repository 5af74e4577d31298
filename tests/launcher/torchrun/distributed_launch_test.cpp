// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "launcher/torchrun/launch_options.hpp"
#include "launcher/torchrun/stream_sinks.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"
#include "tests/launcher/torchrun/parsed_launch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

int lines_of(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

// distributed_launch OPTIONS sh -c SCRIPT, run to its end.
ProgramResult launch(Words options, const std::string& script) {
    options.insert(options.begin(), "distributed_launch");
    options.insert(options.end(), {"sh", "-c", script});
    return run_program(options);
}

}  // namespace

TEST_CASE("options end where the program begins, with dashes, underscores and --") {
    const Words program = {"prog", "--nnodes", "7", "-t"};
    for (const Words& options :
         {Words{"--nproc-per-node=3", "--node-rank", "1", "--nnodes", "2", "--master-addr", "a"},
          Words{"--nproc_per_node", "3", "--node_rank=1", "--nnodes=2:2", "--master_addr=a"},
          Words{"--nproc-per-node", "3", "--nnodes", "2", "--node-rank", "1", "--rdzv-backend=c10d",
                "--rdzv_endpoint", "a:29500", "--use-env", "--"}}) {
        Words words = options;
        words.insert(words.end(), program.begin(), program.end());
        const LaunchPlan plan = plan_of(words);
        CHECK(plan.ranks_per_node == 3);
        CHECK(plan.nodes == 2);
        CHECK(plan.node_rank == 1);
        CHECK(plan.master_addr == "a");
        CHECK(plan.master_port == comm::default_master_port);
        CHECK(plan.command == program);
    }
    CHECK(plan_of({"--standalone", "true"}).command == Words{"true"});
    CHECK(plan_of({"prog"}).ranks_per_node == 1);
    CHECK(plan_of({"prog"}).master_port == 0);
    CHECK(plan_of({"--master_addr=host", "--master_port=1234", "prog"}).master_port == 1234);
    CHECK(
        plan_of({"--nnodes=2", "--node-rank=0", "--rdzv-endpoint=[::1]:77", "prog"}).master_addr ==
        "::1");
}

TEST_CASE("auto, cpu and gpu are what the host has") {
    const auto ranks = [](const std::string& text, const HostResources& host) {
        return plan_of({"--nproc-per-node", text, "prog"}, {}, host).ranks_per_node;
    };
    CHECK(ranks("cpu", {6, 2}) == 6);
    CHECK(ranks("gpu", {6, 2}) == 2);
    CHECK(ranks("auto", {6, 2}) == 2);
    CHECK(ranks("auto", {6, 0}) == 6);
    CHECK(contains(refusal({"--nproc-per-node", "gpu", "prog"}), "no GPU"));
    CHECK(contains(refusal({"--nproc-per-node", "many", "prog"}), "--nproc-per-node: 'many'"));
    CHECK(contains(refusal({"--nproc-per-node", "0", "prog"}), "--nproc-per-node"));
}

TEST_CASE("Python scripts and modules are started by Python") {
    CHECK(plan_of({"a/b.py", "x"}).command == Words{"python3", "-u", "a/b.py", "x"});
    CHECK(plan_of({"-m", "pack.mod", "x"}).command ==
          Words{"python3", "-u", "-m", "pack.mod", "x"});
    CHECK(plan_of({"--no-python", "b.py"}).command == Words{"b.py"});
    CHECK(plan_of({"b.py"}, {{"PYTHON_EXEC", "/v/python"}}).command ==
          Words{"/v/python", "-u", "b.py"});
    const auto ranks = launched_ranks(
        plan_of({"--use-env", "--nproc-per-node", "2", "--use_env=false", "b.py", "x"}), 0, {});
    CHECK(ranks[1].command == Words{"python3", "-u", "b.py", "x", "--local-rank=1"});
    CHECK(plan_of({"--use_env", "false", "prog"}).local_rank_by == LocalRankBy::own_argument);
    CHECK(plan_of({"--use-env", "true", "prog"}).command == Words{"prog"});
    CHECK(plan_of({"--use-env", "true"}).command == Words{"true"});
}

TEST_CASE("a wrong request is refused in one line that names the option") {
    const Words two = {"--nnodes", "2", "prog"};
    const auto with = [&](Words words) {
        words.insert(words.end(), two.begin(), two.end());
        return refusal(words);
    };
    CHECK(contains(refusal({}), "name the program"));
    CHECK(contains(refusal({"--nproc-per-nod", "2", "prog"}), "did you mean --nproc-per-node"));
    CHECK(contains(with({"--master-addr", "a"}), "--node-rank: give"));
    CHECK(contains(with({"--node-rank", "0"}), "--master-addr: name"));
    CHECK(contains(with({"--node-rank", "2", "--master-addr", "a"}), "--nnodes 2 are 0 to 1"));
    CHECK(contains(with({"--standalone"}), "--standalone"));
    CHECK(contains(with({"--master-addr", "a", "--rdzv-endpoint", "b"}), "leave one out"));
    CHECK(contains(refusal({"--rdzv-endpoint", "b:1", "--master-port", "2", "prog"}),
                   "--rdzv-endpoint b:1 contradicts --master-port 2: leave one out"));
    for (const char* endpoint : {"b", "b:2", "b:2 "})
        CHECK(refusal({"--rdzv-endpoint", endpoint, "--master-port", "2", "prog"}).empty());
    CHECK(contains(refusal({"--node-rank", "1", "prog"}), "give --nnodes"));
    CHECK(contains(refusal({"--nnodes", "1:4", "prog"}), "--nnodes 1:4"));
    CHECK(contains(refusal({"--master-port", "70000", "prog"}), "--master-port"));
    CHECK(contains(refusal({"--redirects", "3", "prog"}), "--log-dir"));
    CHECK(contains(refusal({"--tee", "4", "prog"}), "--tee"));
    CHECK(contains(refusal({"--nproc-per-node", "2", "--tee", "2:1", "prog"}), "--tee"));
    CHECK(contains(refusal({"--rdzv-backend", "etcd", "prog"}), "--rdzv-backend"));
    CHECK(contains(refusal({"--nproc-per-node", "2", "train", "--data", "d"}),
                   "start distributed_train"));
    CHECK(contains(refusal({"--nproc-per-node", "2", "lockstep", "multiprocessing_eval"}),
                   "start distributed_eval"));
}

TEST_CASE("what torchrun has and this has not is refused with what to do instead") {
    for (const std::string name : {"--local-addr", "--local_addr", "--event-log-handler",
                                   "--logs-specs", "--duplicate-stdout-filters", "--numa-binding",
                                   "--signals-to-handle", "--virtual-local-rank"}) {
        CAPTURE(name);
        CHECK(contains(refusal({name, "x", "prog"}), ": leave it out: "));
        CHECK(contains(refusal({name + "=x", "prog"}), ": leave it out: "));
    }
    CHECK(refusal({"prog", "--local-addr", "x"}).empty());
    CHECK(contains(refusal({"--start-method", "fork", "prog"}), "--start-method"));
    CHECK(contains(refusal({"--monitor-interval", "0", "prog"}), "--monitor-interval"));
    CHECK(contains(refusal({"--shutdown-timeout=-1", "prog"}), "--shutdown-timeout"));
    CHECK(contains(refusal({"--local-ranks-filter", "1", "prog"}), "--local-ranks-filter"));
    CHECK(contains(refusal({"--rdzv-conf", "timeout=900", "prog"}), "--rdzv-conf timeout=900"));
    CHECK(contains(refusal({"--run-path", "--no-python", "prog"}), "--run-path contradicts"));
    CHECK(contains(
        refusal({"--nnodes=2", "--master-addr=a", "--node-rank=0", "--rdzv_conf=rank=1", "prog"}),
        "contradicts --node-rank 0"));
}

TEST_CASE("torchrun's further options mean here what they mean there") {
    const LaunchPlan plan =
        plan_of({"--nnodes=2", "--rdzv_backend", "static", "--rdzv_endpoint=a:1234", "--rdzv_conf",
                 "rank=1", "--rdzv_id", "7", "--monitor_interval", "5", "--start_method", "spawn",
                 "--role", "trainer", "--shutdown_timeout", "0.25", "prog"});
    CHECK(plan.node_rank == 1);
    CHECK(plan.master_port == 1234);
    CHECK(plan.ending.grace_ms == 250);
    const auto rank = launched_ranks(plan, 0, {}).front().environment;
    CHECK(rank.at("TORCHELASTIC_RUN_ID") == "7");
    CHECK(rank.at("ROLE_NAME") == "trainer");
    CHECK(plan_of({"--run-path", "a/tool", "x"}).command == Words{"python3", "-u", "a/tool", "x"});
}

TEST_CASE("only the ranks that are asked for are shown, and files keep all") {
    const ScratchFolder scratch;
    const auto result = launch({"--nproc-per-node=3", "--local-ranks-filter", "0,2"},
                               "echo rank $RANK; echo error $RANK >&2");
    CHECK(result.code == 0);
    CHECK(lines_of(result.out) == 2);
    CHECK(lines_of(result.err) == 2);
    CHECK_FALSE(contains(result.out + result.err, "1"));
    const auto kept =
        launch({"--nproc-per-node=2", "--local-ranks-filter=1", "--log-dir", scratch / "logs",
                "--role=r", "--log-line-prefix-template", "${role_name}${local_rank}/${rank}: "},
               "echo hello");
    CHECK(kept.out == "r1/1: hello\n");
    CHECK(contains(read_text(scratch / "logs/attempt_0/rank_0/stdout.log"), "hello"));
    // What is teed has no file without a folder.
    const auto teed = launch({"--nproc-per-node=2", "--local-ranks-filter=1", "--tee=3",
                              "--log-line-prefix-template", "${rank}: "},
                             "echo hello; echo error >&2");
    CHECK(teed.out == "1: hello\n");
    CHECK(teed.err == "1: error\n");
    CHECK(contains(refusal({"--local-ranks-filter=0", "--tee=1", "--redirects=2", "prog"}),
                   "--redirects needs --log-dir"));
}

TEST_CASE("the threads of Lockstep's ranks are told how to wait, foreign programs are not") {
    const auto spins = [](const Words& words, const comm::Environment& environment) {
        return launched_ranks(plan_of(words), 0, environment)
            .front()
            .environment.contains("GOMP_SPINCOUNT");
    };
    CHECK(spins({"some/distributed_train"}, {}));
    CHECK_FALSE(spins({"some/distributed_train"}, {{"OMP_WAIT_POLICY", "active"}}));
    CHECK_FALSE(spins({"prog"}, {}));
}

TEST_CASE("srun with one launcher on each host says which host this is") {
    comm::Environment slurm = {{"SLURM_JOB_ID", "5"},
                               {"SLURM_STEP_ID", "0"},
                               {"SLURM_PROCID", "1"},
                               {"SLURM_STEP_NUM_TASKS", "2"},
                               {"SLURM_LOCALID", "0"},
                               {"SLURM_NODEID", "1"},
                               {"SLURM_STEP_NODELIST", "n[3-4]"},
                               {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};
    const LaunchPlan plan = plan_of({"--nnodes", "2", "prog"}, slurm);
    CHECK(plan.node_rank == 1);
    CHECK(plan.master_addr == "n3");
    CHECK(plan.master_port == comm::find_rank_info(slurm, {}).master_port);
    const LaunchPlan given =
        plan_of({"--nnodes=2", "--node-rank=0", "--master-addr=x", "prog"}, slurm);
    CHECK(given.node_rank == 0);
    CHECK(given.master_addr == "x");
    CHECK(contains(refusal({"--nnodes", "3", "prog"}, slurm), "--ntasks-per-node=1"));
    slurm.erase("SLURM_STEP_ID");
    CHECK(contains(refusal({"--nnodes", "2", "prog"}, slurm), "--node-rank"));
}

TEST_CASE("the secret: made for one host, brought for several, kept out of command lines") {
    const auto secret_of = [](const LaunchPlan& plan, const comm::Environment& base) {
        const auto ranks = launched_ranks(plan, 0, base);
        const auto& variables = ranks.front().environment;
        const auto found = variables.find(comm::Secret::variable);
        return found == variables.end() ? std::string() : found->second;
    };
    const Words two = {"--nnodes=2", "--node-rank=0", "--master-addr=a", "prog"};
    const LaunchPlan alone = plan_of({"prog"});
    CHECK(secret_of(alone, {}).size() == 64);
    CHECK(secret_of(alone, {}) != secret_of(alone, {}));
    CHECK(secret_of(plan_of(two), {}).empty());
    const comm::Environment given = {{comm::Secret::variable, "0123456789abcdef"}};
    CHECK(secret_of(plan_of({"prog"}, given), given) == "0123456789abcdef");
    CHECK(secret_of(plan_of(two, given), given) == "0123456789abcdef");

    const ScratchFolder scratch;
    const std::string file = scratch / "secret";
    const Words from_file = {"--secret-file", file, "prog"};
    CHECK_THROWS_AS(parse_launch(from_file, {}, eight_cores), Error);
    write_text(file, "kept in a file of mine\n");
    namespace fs = std::filesystem;
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read);
    CHECK(contains(refusal(from_file), "chmod 600"));
    fs::permissions(file, fs::perms::owner_read);
    CHECK(secret_of(plan_of(from_file), {}) == "kept in a file of mine");
    const auto ranks = launched_ranks(plan_of(from_file), 0, {});
    CHECK(ranks.front().command == Words{"prog"});
    fs::permissions(file, fs::perms::owner_all);
    write_text(file, "\n");
    CHECK(contains(refusal(from_file), "--secret-file"));
}

TEST_CASE("every rank gets torchrun's whole environment") {
    const LaunchPlan plan =
        plan_of({"--nproc-per-node=2", "--nnodes=3", "--node-rank=1", "--master-addr=a",
                 "--master-port=99", "--max-restarts=4", "--rdzv-id=run", "--role=worker", "prog"});
    const auto ranks = launched_ranks(plan, 2, {{"RANK", "77"}, {"OTHER", "kept"}});
    REQUIRE(ranks.size() == 2);
    comm::Environment expected = {{"RANK", "3"},
                                  {"LOCAL_RANK", "1"},
                                  {"GROUP_RANK", "1"},
                                  {"ROLE_RANK", "3"},
                                  {"LOCAL_WORLD_SIZE", "2"},
                                  {"WORLD_SIZE", "6"},
                                  {"GROUP_WORLD_SIZE", "3"},
                                  {"ROLE_WORLD_SIZE", "6"},
                                  {"ROLE_NAME", "worker"},
                                  {"MASTER_ADDR", "a"},
                                  {"MASTER_PORT", "99"},
                                  {"TORCHELASTIC_RESTART_COUNT", "2"},
                                  {"TORCHELASTIC_MAX_RESTARTS", "4"},
                                  {"TORCHELASTIC_RUN_ID", "run"},
                                  {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                  {"OMP_NUM_THREADS", "4"},
                                  {"OTHER", "kept"}};
    CHECK(ranks[1].environment == expected);
    const comm::RankInfo rank_info = comm::find_rank_info(ranks[1].environment, {});
    CHECK(rank_info.rank == 3);
    CHECK(rank_info.size == 6);
    CHECK(rank_info.local_rank == 1);
    CHECK(rank_info.local_size == 2);
    const auto own = launched_ranks(plan, 0, {{"OMP_NUM_THREADS", "7"}});
    CHECK(own[0].environment.at("OMP_NUM_THREADS") == "7");
}

TEST_CASE("on one host each start takes a free port") {
    const auto ranks = launched_ranks(plan_of({"--nproc-per-node=2", "prog"}), 0, {});
    CHECK(ranks[0].environment.at("MASTER_ADDR") == "127.0.0.1");
    CHECK(std::stoi(ranks[0].environment.at("MASTER_PORT")) > 1023);
    CHECK(ranks[0].environment.at("MASTER_PORT") == ranks[1].environment.at("MASTER_PORT"));
}

TEST_CASE("redirects and tees, for all ranks and by rank") {
    const auto all = sinks_of("3", "1", 2);
    CHECK(all[1].output == Sink::both);
    CHECK(all[1].error == Sink::file);
    const auto some = sinks_of("1:2", "0:1", 2);
    CHECK(some[0].output == Sink::both);
    CHECK(some[0].error == Sink::inherited);
    CHECK(some[1].output == Sink::inherited);
    CHECK(some[1].error == Sink::file);
}

TEST_CASE("ranks write to their files, to the terminal with their number, or to both") {
    const ScratchFolder scratch;
    const std::string logs = scratch / "logs";
    const std::string speak = "echo out $RANK; echo err $RANK >&2; printf end";
    SUBCASE("both") {
        const auto run = launch({"--nproc-per-node=2", "--log-dir", logs}, speak);
        CHECK(run.code == 0);
        CHECK(contains(run.out, "[rank 0] out 0\n"));
        CHECK(contains(run.out, "[rank 1] end\n"));
        CHECK(lines_of(run.out) == 4);
        CHECK(contains(run.err, "[rank 1] err 1\n"));
        CHECK(read_text(logs + "/attempt_0/rank_1/stdout.log") == "out 1\nend");
        CHECK(read_text(logs + "/attempt_0/rank_1/stderr.log") == "err 1\n");
    }
    SUBCASE("files only") {
        const auto run = launch({"--nproc-per-node=2", "-r", "0:3", "--log-dir", logs}, speak);
        CHECK(run.out == "out 1\nend");
        CHECK(run.err == "err 1\n");
        CHECK(read_text(logs + "/attempt_0/rank_0/stdout.log") == "out 0\nend");
        CHECK_FALSE(std::filesystem::exists(logs + "/attempt_0/rank_1"));
    }
    SUBCASE("here only") {
        CHECK(launch({"-t", "1"}, "echo a; echo b").out == "[rank 0] a\n[rank 0] b\n");
        // More than a pipe holds arrives whole, also what was written at the end.
        CHECK(lines_of(launch({"-t", "1"}, "seq 100000").out) == 100000);
    }
    SUBCASE("one that cannot be written") {
        const auto run = launch({"--log-dir", "/proc/none"}, speak);
        CHECK(run.code == 2);
        CHECK(contains(run.err, "--log-dir"));
    }
    SUBCASE("one that another launcher writes") {
        const std::string again = program_path("lockstep") + " distributed_launch --log-dir ";
        const auto run = launch({"--log-dir", logs}, "env -i " + again + logs + " /bin/true");
        CHECK(contains(run.err, "out.log: another program writes there at this moment"));
    }
    SUBCASE("one that is a link or a pipe") {
        const std::string folder = logs + "/attempt_0/rank_0", victim = scratch / "victim";
        write_text(victim, "kept");
        std::filesystem::create_directories(folder);
        std::filesystem::create_symlink(victim, folder + "/stdout.log");
        REQUIRE(::mkfifo((folder + "/stderr.log").c_str(), 0600) == 0);
        for (const std::string name : {"stdout.log", "stderr.log"}) {
            const auto run = launch({"--log-dir", logs}, speak);
            CHECK(run.code == 2);
            CHECK(contains(run.err, name + " is no regular file"));
            std::filesystem::remove(folder + "/" + name);
        }
        std::filesystem::create_directory(scratch / "elsewhere");
        std::filesystem::remove_all(folder);
        std::filesystem::create_directory_symlink(scratch / "elsewhere", folder);
        CHECK(contains(launch({"--log-dir", logs}, speak).err, "/rank_0 is a link; remove it"));
        CHECK(std::filesystem::is_empty(scratch / "elsewhere"));
        CHECK(read_text(victim) == "kept");
    }
    SUBCASE("one that may not grow") {
        // The limit must not hold for what the test itself writes.
        const std::string limited = "set -o pipefail; (ulimit -f 1; exec \"$0\" --log-dir " + logs +
                                    " --no-python seq 100000) | wc -l";
        const auto run = run_program({"bash", "-c", limited, program_path("distributed_launch")});
        CHECK(run.code == 0);
        CHECK(run.out == "100000\n");
        CHECK(lines_of(run.err) == 1);
        CHECK(contains(run.err, "/stdout.log cannot be written: "));
    }
    SUBCASE("a prefix that makes much of little") {
        std::string many;
        for (int i = 0; i < 4000; ++i) many += "${role_name}";
        const auto run = launch(
            {"-t", "3", "--role", std::string(60'000, 'x'), "--log-line-prefix-template", many},
            speak);
        CHECK(run.code == 2);
        CHECK(contains(run.err, "--log-line-prefix-template: makes a text of more than 4096"));
    }
}

TEST_CASE("the exit code and the report are the first failing rank's") {
    const auto run = launch({"--nproc-per-node=3"}, "[ $RANK != 1 ] || exit 7; exec sleep 600");
    CHECK(run.code == 7);
    CHECK(contains(run.err, "rank 1 (local rank 1 on "));
    CHECK(contains(run.err, "failed first, with exit code 7"));
    CHECK(launch({"--nproc-per-node=2"}, "exec true").code == 0);
    const auto missing = run_program({"distributed_launch", "no-such-program"});
    CHECK(missing.code == 2);
    CHECK(contains(missing.err, "no-such-program"));
}

TEST_CASE("--max-restarts starts all ranks again, each attempt with its own files") {
    const ScratchFolder scratch;
    const auto run = launch({"--nproc-per-node=2", "--max-restarts=2", "--log-dir", scratch / "l"},
                            "echo $RANK of attempt $TORCHELASTIC_RESTART_COUNT; "
                            "[ $RANK = 0 ] || [ $TORCHELASTIC_RESTART_COUNT = 1 ]");
    CHECK(run.code == 0);
    CHECK(contains(run.err, "all start again in 1 s (restart 1 of 2)"));
    CHECK(read_text(scratch / "l/attempt_1/rank_0/stdout.log") == "0 of attempt 1\n");
    CHECK_FALSE(std::filesystem::exists(scratch / "l/attempt_2"));
    CHECK(launch({"--max-restarts=1"}, "exit 9").code == 9);
}

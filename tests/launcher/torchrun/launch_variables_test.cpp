// SPDX-License-Identifier: Apache-2.0
// What torchrun documents about hosts, and the variables that stand for its options.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "launcher/torchrun/launch_options.hpp"
#include "tests/launcher/torchrun/parsed_launch.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

TEST_CASE("an endpoint has every form that torchrun documents, and port 0 is a free one") {
    const auto endpoint = [](const std::string& text) {
        const LaunchPlan plan =
            plan_of({"--nnodes=2", "--node-rank=0", "--rdzv-endpoint", text, "prog"});
        return plan.master_addr + " " + std::to_string(plan.master_port);
    };
    CHECK(endpoint("host") == "host 29500");
    CHECK(endpoint(" host:1234\r") == "host 1234");
    CHECK(endpoint("10.0.0.1:0029400") == "10.0.0.1 29400");
    CHECK(endpoint("[::1]") == "::1 29500");
    CHECK(endpoint("[fe80::1%eth0]:77") == "fe80::1%eth0 77");
    CHECK(endpoint("2001:db8::7") == "2001:db8::7 29500");
    CHECK(endpoint("2001:db8::7:29400") == "2001:db8::7 29400");
    const auto wrong = [](const std::string& text) {
        return refusal({"--nnodes=2", "--node-rank=0", "--rdzv-endpoint=" + text, "prog"});
    };
    for (const std::string text : {"host:", "host:many", "host:70000", "host:-1", ":29500", "[::1",
                                   "[::1]29500", "tcp://host:1", "a:b:1", "::1:2950"}) {
        const std::string what = wrong(text);
        CAPTURE(what);
        CHECK(what.starts_with("--rdzv-endpoint '"));
    }
    CHECK(contains(wrong("::1:2950"), "give [::1]:2950 or [::1:2950]"));
    CHECK(contains(wrong("host:0"), "--rdzv-endpoint host:0: the other hosts cannot know"));
    CHECK(contains(
        refusal({"--nnodes=2", "--node-rank=0", "--master-addr=a", "--master-port=0", "prog"}),
        "--master-port 0: the other hosts cannot know"));
    CHECK(plan_of({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "prog"}).master_port == 0);
    CHECK(plan_of({"--rdzv-endpoint=[::1]:0", "--nnodes=1:1", "prog"}).master_port == 0);
    CHECK(plan_of({"--master-port", "0", "prog"}).master_port == 0);
    CHECK(plan_of({"--standalone", "--rdzv-endpoint=host:77", "prog"}).master_port == 0);
}

TEST_CASE("torchrun's variables stand for its options, which take precedence") {
    const comm::Environment job = {{"PET_NNODES", "2"},
                                   {"PET_NPROC_PER_NODE", " 3\r"},
                                   {"PET_NODE_RANK", "1"},
                                   {"PET_RDZV_BACKEND", "c10d"},
                                   {"PET_RDZV_ID", "job"},
                                   {"PET_RDZV_ENDPOINT", "job-worker-0:23456"},
                                   {"PET_MAX_RESTARTS", "4"},
                                   {"PET_MASTER_ADDR", "other"},
                                   {"PET_NO_PYTHON", "1"},
                                   {"PET_STANDALONE", "0"},
                                   {"PET_MASTER_PORT", "9"},
                                   {"PET_TEE", ""},
                                   {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "${rank}> "}};
    const LaunchPlan plan = plan_of({"b.py"}, job);
    CHECK(plan.nodes == 2);
    CHECK(plan.ranks_per_node == 3);
    CHECK(plan.node_rank == 1);
    CHECK(plan.run_id == "job");
    CHECK(plan.max_restarts == 4);
    CHECK(plan.master_addr == "job-worker-0");
    CHECK(plan.master_port == 23456);
    CHECK(plan.command == Words{"b.py"});
    CHECK(plan.line_prefix == "${rank}> ");
    const auto rank = launched_ranks(plan, 0, job).front().environment;
    CHECK_FALSE(rank.contains("PET_NNODES"));
    CHECK(plan_of({"--nproc-per-node=1", "--rdzv-id", "x", "b"}, job).run_id == "x");
    CHECK(plan_of({"--master-addr=c", "b"}, job).master_addr == "c");
    const LaunchPlan alone = plan_of({"--standalone", "b"}, job);
    CHECK(alone.nodes == 1);
    CHECK(alone.node_rank == 0);
    CHECK(alone.master_port == 0);
    CHECK(plan_of({"b"}, {{"PET_STANDALONE", "1"}, {"PET_NNODES", "2"}}).nodes == 1);
}

TEST_CASE("what is wrong in torchrun's variables is told with the variable") {
    const auto wrong = [](const std::string& name, const std::string& value) {
        return refusal({"prog"}, {{name, value}});
    };
    for (const auto& [name, value] : {std::pair("PET_NNODES", "1:4"),
                                      {"PET_NNODES", "many"},
                                      {"PET_NPROC_PER_NODE", "4x"},
                                      {"PET_NPROC_PER_NODE", "-1"},
                                      {"PET_NODE_RANK", "one"},
                                      {"PET_RDZV_BACKEND", "etcd"},
                                      {"PET_RDZV_ENDPOINT", "tcp://a:1"},
                                      {"PET_MASTER_PORT", "99999999999999999999"},
                                      {"PET_MAX_RESTARTS", "-1"},
                                      {"PET_STANDALONE", "maybe"},
                                      {"PET_LOCAL_ADDR", "10.0.0.1"},
                                      {"PET_RDZV_CONF", "timeout=9"},
                                      {"PET_NODE_RANK", "1"}}) {
        const std::string what = wrong(name, value);
        CAPTURE(what);
        CHECK(what.starts_with(std::string(name) + "='" + value + "' in the environment: "));
    }
    CHECK(contains(refusal({"--nnodes", "1:4", "prog"}, {{"PET_NNODES", "2"}}), "--nnodes 1:4"));
    CHECK(refusal({"--nnodes", "1", "prog"}, {{"PET_NNODES", "1:4"}}).empty());
}

TEST_CASE("several launchers that do not know of each other are refused") {
    const comm::Environment step = {
        {"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
    const Words two = {"--nproc-per-node=2", "distributed_train"};
    CHECK(contains(refusal(two, step), "4 launchers were started (SLURM_STEP_NUM_TASKS)"));
    CHECK(contains(refusal(two, {{"OMPI_COMM_WORLD_SIZE", "2"}}), "2 launchers were started"));
    CHECK(refusal({"prog"}, step).empty());
    CHECK(refusal({"--standalone", "distributed_train"}, step).empty());
    comm::Environment shell = step;
    shell["SLURM_PTY_PORT"] = "40000";
    const auto rank = launched_ranks(plan_of(two, shell), 0, shell).front().environment;
    CHECK_FALSE(rank.contains("SLURM_STEP_NUM_TASKS"));
    CHECK(rank.contains("SLURM_JOB_ID"));
}

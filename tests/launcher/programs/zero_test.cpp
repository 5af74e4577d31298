// SPDX-License-Identifier: Apache-2.0
// --zero of the programs: processes that share what they keep train as those that do not,
// checkpoints continue at any stage and on any ranks, plan tells memory and traffic, and what does
// not fit is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/launcher/programs/sharing_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/program_checks.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using namespace lockstep::tests::sharing;

namespace {

// Runs without sharing and at each stage, and compares losses and tensors.
void compare_stages(const Prepared& prepared, int ranks, const std::string& more,
                    const std::vector<std::string>& stages = {"1", "2", "3"}) {
    CAPTURE(ranks);
    CAPTURE(more);
    const std::string all = " --max-train-steps 20 " + more;
    const std::string id = std::to_string(ranks) + "-" + std::to_string(more.size());
    prepared.run(on(ranks) + prepared.start("a" + id) + all);
    prepared.run(on(ranks) + prepared.start("a1" + id, ranks) + all);
    for (const std::string& stage : stages) {
        CAPTURE(stage);
        const std::string b = "b" + id + stage;
        // From stage 2 on, several lanes of a rank are added in another order.
        const int lanes = stage == "1" ? 6 : ranks;
        const std::string a = stage == "1" ? "a" + id : "a1" + id;
        prepared.run(on(ranks) + prepared.start(b, lanes) + all + " --zero " + stage);
        CHECK(prepared.losses(a) == prepared.losses(b));
        CHECK(prepared.weights(a) == prepared.weights(b));
        CHECK(prepared.same_tensors(a, b));
    }
}

}  // namespace

TEST_CASE("processes that share write the tensors of those that do not, bit for bit") {
    const Prepared prepared;
    // Buckets of up to 0.2 MB are summed around the ring, small ones in a tree.
    compare_stages(prepared, 2, "--precision bf16 --moments int8");
    compare_stages(prepared, 3, "--precision fp32 --bucket-mb 0.2");
}

TEST_CASE("more kinds of processes that share write the tensors of those that do not") {
    const Prepared prepared;
    compare_stages(prepared, 2, "--precision fp32");
    compare_stages(prepared, 2, "--precision bf16 --optimizer sgd --momentum 0.9 --no-overlap");
    compare_stages(prepared, 3, "--precision bf16 --bucket-mb 0.2");
    compare_stages(prepared, 4, "--precision fp32 --bucket-mb 0.2");
    compare_stages(prepared, 3, "--precision bf16 --comm-dtype bf16");
}

TEST_CASE("muon's matrices of which ranks own parts are those of a rank that owns them whole") {
    const Prepared prepared;
    compare_stages(prepared, 3, "--optimizer muon --precision fp32 --bucket-mb 0.02", {"1"});
    compare_stages(prepared, 2, "--optimizer muon --precision bf16", {"1"});
}

TEST_CASE("rank 0 saves and loads alone if a rank does not see its folder" *
          doctest::test_suite(needs_mounts)) {
    const Prepared prepared;
    const std::string all = " --precision bf16 --max-train-steps ";
    prepared.run(on(3) + prepared.start("seen") + all + "20 --zero 3");
    CHECK(std::filesystem::exists(prepared.last_of("seen") + "/part-00002.safetensors"));
    const std::string bare =
        "bash tests/launcher/programs/bare_ranks.sh 3 29440 bash "
        "tests/launcher/programs/hidden_folder.sh " +
        prepared.folder("hidden") + " " + program_path("distributed_train");
    for (const std::string steps : {"9", "20"}) {
        const std::string told =
            prepared.run(bare + prepared.start("hidden") + all + steps + " --zero 3");
        CAPTURE(told);
        CHECK(holds(told, "rank 2 code 0"));
        CHECK(holds(told, "not every rank can write into the model folder of rank 0"));
    }
    CHECK_FALSE(std::filesystem::exists(prepared.last_of("hidden") + "/part-00001.safetensors"));
    CHECK(prepared.same_tensors("seen", "hidden"));
}

TEST_CASE("validations with replies are the same when ranks share the weights") {
    Prepared prepared;
    const ValidatedDialogues validated(60);
    prepared.data = validated.data;
    const std::string all =
        " --max-train-steps 4 --precision bf16 --validation-every-n-steps 2 --skip-generation "
        "false --recompute layer --zero ";
    const auto told = [&](const std::string& stage) {
        prepared.run(on(3) + prepared.start("z" + stage, 3) + all + stage);
        std::vector<std::string> lines;
        for (auto line : metrics(prepared.folder("z" + stage), "valid")) {
            line.erase("seconds");
            line.erase("time");
            lines.push_back(line.dump());
        }
        return lines;
    };
    const auto whole = told("0");
    REQUIRE(whole.size() >= 2);
    CHECK(told("3") == whole);
}

TEST_CASE("two replicas of two processes have the losses of processes that do not share") {
    const Prepared prepared;
    const std::string all = " --max-train-steps 20 --precision fp32";
    prepared.run(on(3) + prepared.start("a") + all);
    prepared.run(on(4) + prepared.start("b") + all + " --zero 1 --zero-ranks 2");
    CHECK(furthest(prepared.losses("a"), prepared.losses("b")) < adam_tolerance);
}

TEST_CASE("a run tells how many ranks share, and what that changes when it is continued") {
    const Prepared prepared;
    const auto first =
        prepared.run(on(4) + prepared.start("a") + " --zero 1 --zero-ranks 2 --max-train-steps 2");
    CHECK(holds(first, "2 ranks share a replica: --zero 1"));
    const auto next = [&](const std::string& options, int steps) {
        return prepared.run(on(4) + " -mf " + prepared.folder("a") + options +
                            " --max-train-steps " + std::to_string(steps));
    };
    CHECK(holds(next("", 3),
                "changed since: sums over 2 ranks that share, then over replicas -> "
                "over all ranks"));
    CHECK(holds(next(" --zero 2", 4),
                "changed since: sums over all ranks -> over all ranks after each "
                "micro-batch"));
    CHECK_FALSE(holds(next(" --zero 3", 5), "not bit for bit"));
    const auto whole = next(" --zero 0", 6);
    CHECK(holds(whole,
                "changed since: sums over all ranks after each micro-batch -> over all ranks"));
    CHECK_FALSE(holds(whole, "share a replica"));
    CHECK_FALSE(holds(next(" --zero 1", 7), "not bit for bit"));
    CHECK_FALSE(holds(next(" --ddp-backend ddp", 8), "share a replica"));
    CHECK(holds(next(" --ddp-backend zero2 --zero-ranks 2", 9), "2 ranks share a replica"));
    const auto alone = prepared.run("train -mf " + prepared.folder("a") + " --max-train-steps 10");
    CHECK_FALSE(holds(alone, "share a replica"));
    CHECK(holds(alone, "each rank keeps a whole replica: --zero 2 shares nothing"));
}

TEST_CASE("a checkpoint continues at the other stage and on other ranks") {
    const Prepared prepared;
    const std::string fixed = " --precision bf16 --deterministic";
    prepared.run(on(2) + prepared.start("whole") + fixed + " --max-train-steps 20");
    const auto whole = prepared.losses("whole");
    struct Pair {
        std::string then, now;
    };
    int number = 0;
    for (const auto& [then, now] :
         {Pair{on(2) + " --zero 1", on(3) + " --zero 0"}, Pair{on(2), on(3) + " --zero 1"},
          Pair{on(3) + " --zero 1", "train --zero 0"}, Pair{"train", on(2) + " --zero 1"}}) {
        CAPTURE(then);
        CAPTURE(now);
        const std::string name = "n" + std::to_string(++number);
        const std::string program = then.substr(0, then.find(" --zero"));
        const bool shares = holds(then, "--zero 1");
        prepared.run(program + prepared.start(name) + fixed + (shares ? " --zero 1" : "") +
                     " --max-train-steps 9");
        prepared.run(now + " -mf " + prepared.folder(name) + " --max-train-steps 20");
        CHECK(prepared.losses(name) == whole);
        CHECK(prepared.weights(name) == prepared.weights("whole"));
        CHECK(prepared.same_tensors(name, "whole"));
    }
}

TEST_CASE("a checkpoint continues between stages and ranks with the losses of one run") {
    const Prepared prepared;
    struct Pair {
        std::string then, now;
    };
    for (const std::string moments : {"fp32", "int8"}) {
        const std::string all = " --precision fp32 --moments " + moments;
        prepared.run(on(2) + prepared.start("whole" + moments) + all + " --max-train-steps 20");
        const auto whole = prepared.losses("whole" + moments);
        int number = 0;
        for (const auto& [then, now] :
             {Pair{on(2) + " --zero 3", on(3) + " --zero 2"},
              Pair{on(3) + " --zero 2", on(2) + " --zero 3"}, Pair{on(2) + " --zero 2", "train"},
              Pair{"train", on(3) + " --zero 3"}, Pair{on(4) + " --zero 3 --zero-ranks 2", "train"},
              Pair{on(2), on(4) + " --zero 3"}}) {
            CAPTURE(moments);
            CAPTURE(then);
            CAPTURE(now);
            const std::string name = moments + std::to_string(++number);
            const std::size_t cut = std::min(then.size(), then.find(" --zero"));
            prepared.run(then.substr(0, cut) + prepared.start(name) + all + then.substr(cut) +
                         " --max-train-steps 9");
            // What a command has stored counts unless the next one says otherwise.
            const std::string stage = holds(now, "--zero") ? "" : " --zero 0";
            prepared.run(now + stage + " -mf " + prepared.folder(name) + " --max-train-steps 20");
            CHECK(furthest(prepared.losses(name), whole) <
                  (moments == "fp32" ? adam_tolerance : 1e-3));
        }
    }
}

TEST_CASE("a run writes what its groups send, as planned, and the peak of each rank") {
    const Prepared prepared;
    prepared.run(on(4) + prepared.start("a", 4) +
                 " --zero 3 --zero-ranks 2 --precision bf16 --max-train-steps 3");
    const auto line = train_metrics(prepared.folder("a")).back();
    std::int64_t sent = 0;
    for (const std::string group : {"weights", "gradients", "replicas"}) {
        CAPTURE(group);
        CHECK(line.at("bytes_" + group) > 0);
        CHECK(line.at("seconds_" + group) > 0);
        CHECK(line.at("seconds_" + group + "_not_hidden") >= 0);
        sent += line.at("bytes_" + group).get<std::int64_t>();
    }
    const auto plan = nlohmann::json::parse(prepared.run(
        "lockstep plan --distributed-world-size 4 --device cpu --json --zero 3 --zero-ranks 2"
        " --precision bf16" +
        prepared.start("b", 4)));
    CHECK(plan.at("stages")[3].at("sent_bytes") == sent);
    const auto memory =
        nlohmann::json::parse(read_text(prepared.folder("a") + "/report.json")).at("memory");
    CHECK(memory.at("peak_bytes").size() == 4);
    CHECK(holds(memory.dump(), "of this rank's part"));
}

TEST_CASE("plan tells memory and traffic of each stage") {
    const Prepared prepared;
    const std::string gpt2 =
        "lockstep plan -m gpt2 --vocabulary 50304 --embedding-size 768 --n-layers 12 --ffn-size "
        "3072 --n-heads 12 -bs 1 --truncate 128 --device cpu --precision bf16 "
        "--distributed-world-size 4 --json";
    const auto kept = [&](int stage) {
        const auto plan =
            nlohmann::json::parse(prepared.run(gpt2 + " --zero " + std::to_string(stage)));
        std::int64_t bytes = 0;
        for (const auto& part : plan.at("parts"))
            for (const std::string name : {"weights", "gradients", "optimizer"})
                if (part.at("name").get<std::string>().starts_with(name))
                    bytes += part.at("bytes").get<std::int64_t>();
        return bytes;
    };
    const auto plan = nlohmann::json::parse(prepared.run(gpt2 + " --zero 1"));
    const auto parameters = plan.at("parameters").get<std::int64_t>();
    const auto near = [&](std::int64_t bytes, std::int64_t expected) {
        return bytes >= expected && bytes < expected + parameters / 50;
    };
    // Of 18 bytes a parameter, 2 compute, 4 are gradients, 4 the master and 8 the moments. Slots
    // hold two layers and the table.
    const std::int64_t layer = 12 * 768 * 768 + 13 * 768, table = 50304 * 768;
    CHECK(near(kept(0), 18 * parameters));
    CHECK(near(kept(1), 9 * parameters));
    CHECK(near(kept(2), 6 * parameters + 4 * (2 * layer + table)));
    CHECK(near(kept(3), 4 * parameters + 6 * (2 * layer + table)));
    const auto& stages = plan.at("stages");
    REQUIRE(stages.size() == 4);
    const auto sent = [&](int stage) { return stages[stage].at("sent_bytes").get<double>(); };
    CHECK(std::fabs(sent(1) / sent(0) - 0.75) < 1e-3);
    CHECK(std::fabs(sent(0) / static_cast<double>(parameters) - 6) < 0.01);
    CHECK(stages[1].at("total_bytes") == plan.at("total_bytes"));
    for (const int stage : {1, 2, 3})
        CHECK(stages[stage - 1].at("total_bytes") > stages[stage].at("total_bytes"));
    CHECK(sent(2) == sent(1));
    const auto fixed = nlohmann::json::parse(prepared.run(gpt2 + " --deterministic"));
    REQUIRE(fixed.at("stages").size() == 2);
    CHECK(fixed.at("stages")[1].at("sent_bytes") > fixed.at("stages")[0].at("sent_bytes"));
    CHECK(sent(3) > sent(2));
    CHECK(sent(3) <= sent(0));
}

TEST_CASE("plan --fit auto shares where nothing else is fast enough, and prints the command") {
    const Prepared prepared;
    const std::string gpt2 =
        "lockstep plan -m gpt2 --vocabulary 50304 --embedding-size 768 --n-layers 12 --ffn-size "
        "3072 --n-heads 12 -bs 1 --truncate 128 --device cpu --precision bf16 "
        "--distributed-world-size 4 --fit auto --memory ";
    const auto chosen = [&](const std::string& memory, const std::string& more = "") {
        const auto plan = nlohmann::json::parse(prepared.run(gpt2 + memory + more + " --json"));
        return plan.at("zero").get<int>();
    };
    CHECK(chosen("8GiB") == 0);
    CHECK(chosen("2.7GiB") == 1);
    CHECK(chosen("8GiB", " --zero 3") == 3);
    CHECK(holds(prepared.run(gpt2 + "2.7GiB"), "--zero 1"));
}

TEST_CASE("what ranks cannot share is refused in one line, before anything is written") {
    const Prepared prepared;
    struct Refused {
        std::string options, told;
    };
    for (const auto& [options, told] :
         {Refused{"--zero 1 --optimizer adafactor", "adafactor updates whole matrices"},
          Refused{"--zero 4", "0|1|2|3"}, Refused{"--zero-ranks 2", "only with --zero 1"},
          Refused{"--zero 2 --optimizer muon", "muon updates whole matrices"},
          Refused{"--ddp-backend zero3 --optimizer adafactor", "--zero 3: adafactor"},
          Refused{"--ddp-backend ddp --zero 1",
                  "--zero 1 contradicts --ddp-backend ddp, which is --zero 0; leave one out\n"},
          Refused{"--zero 1 --ddp-backend zero2",
                  "--zero 1 contradicts --ddp-backend zero2, which is --zero 2; leave one out\n"},
          Refused{"--zero 2 --deterministic", "--deterministic adds whole gradients"},
          Refused{"--zero 1 --zero-ranks 4", "--zero-ranks 4: does not divide the 6 ranks; give "}})
        for (const std::string& program :
             {on(6), std::string("lockstep plan --distributed-world-size 6")}) {
            CAPTURE(options);
            const auto run =
                run_line(program + prepared.start("new") + " --max-train-steps 2 " + options);
            INFO(run.err);
            CHECK(run.code == 2);
            CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
            CHECK(holds(run.err, told));
            CHECK_FALSE(std::filesystem::exists(prepared.folder("new")));
        }
    CHECK(run_line("lockstep plan --distributed-world-size 6 --ddp-backend ddp" +
                   prepared.start("new"))
              .code == 0);
}

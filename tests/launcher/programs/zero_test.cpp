// SPDX-License-Identifier: Apache-2.0
// --zero of the programs: processes that share the optimizer's state train as those that do not,
// checkpoints continue at any stage and on any ranks, plan tells memory and traffic, and what does
// not fit is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Prepared : PreparedDialogues {
    std::string folder(const std::string& name) const { return scratch / name; }
    std::string start(const std::string& name) const {
        return " --data " + data + " -mf " + folder(name) +
               " --n-layers 2 --embedding-size 32 --ffn-size 64 --n-heads 2 --threads 1 -bs 4"
               " --dropout 0.1 --logical-shards 6 -lr 3e-3 --log-every-n-steps 1"
               " --lr-scheduler none --bucket-mb 0.05 --hash-every-n-updates 3";
    }
    std::string run(const std::string& line) const {
        const auto result = run_line(line);
        REQUIRE_MESSAGE(result.code == 0, line << "\n" << result.out << result.err);
        return result.out + result.err;
    }
    std::vector<double> losses(const std::string& name) const {
        std::vector<double> values;
        for (const auto& line : train_metrics(folder(name)))
            values.push_back(line.at("loss").get<double>());
        return values;
    }
    std::string file(const std::string& name, const std::string& of) const {
        return read_text(folder(name) + "/checkpoints/step-00000020/" + of);
    }
};

std::string on(int ranks) {
    return "multiprocessing_train --distributed-world-size " + std::to_string(ranks);
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]) / b[i]);
    return most;
}

}  // namespace

TEST_CASE("processes that share the optimizer's state write the bytes of those that do not") {
    const Prepared prepared;
    struct Case {
        int ranks;
        std::string more;
    };
    // Buckets of up to 0.2 MB are summed around the ring, small ones in a tree.
    for (const auto& [ranks, more] :
         {Case{2, "--precision fp32"}, Case{2, "--precision bf16 --moments int8"},
          Case{2, "--precision bf16 --optimizer sgd --momentum 0.9 --no-overlap"},
          Case{3, "--precision bf16 --bucket-mb 0.2"}, Case{4, "--precision fp32 --bucket-mb 0.2"},
          Case{3, "--precision bf16 --comm-dtype bf16"}}) {
        CAPTURE(ranks);
        CAPTURE(more);
        const std::string all = " --max-train-steps 20 " + more;
        const std::string id = std::to_string(ranks) + "-" + std::to_string(more.size());
        const std::string a = "a" + id, b = "b" + id;
        prepared.run(on(ranks) + prepared.start(a) + all);
        prepared.run(on(ranks) + prepared.start(b) + all + " --zero 1");
        CHECK(prepared.losses(a) == prepared.losses(b));
        for (const char* name : {"model.safetensors", "part-00000.safetensors"})
            CHECK(prepared.file(a, name) == prepared.file(b, name));
    }
}

TEST_CASE("two replicas of two processes have the losses of processes that do not share") {
    const Prepared prepared;
    const std::string all = " --max-train-steps 20 --precision fp32";
    prepared.run(on(3) + prepared.start("a") + all);
    prepared.run(on(4) + prepared.start("b") + all + " --zero 1 --zero-ranks 2");
    CHECK(furthest(prepared.losses("a"), prepared.losses("b")) < 1e-5);
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
        for (const char* file : {"model.safetensors", "part-00000.safetensors"})
            CHECK(prepared.file(name, file) == prepared.file("whole", file));
    }
}

TEST_CASE("plan tells memory and traffic of each stage") {
    const Prepared prepared;
    const std::string gpt2 =
        "lockstep plan -m gpt2 --vocabulary 50304 --embedding-size 768 --n-layers 12 --ffn-size "
        "3072 --n-heads 12 -bs 1 --truncate 128 --device cpu --precision bf16 "
        "--distributed-world-size 4 --json";
    const auto plan = nlohmann::json::parse(prepared.run(gpt2 + " --zero 1"));
    std::int64_t kept = 0;
    for (const auto& part : plan.at("parts"))
        for (const std::string name : {"weights", "gradients", "optimizer"})
            if (part.at("name").get<std::string>().starts_with(name))
                kept += part.at("bytes").get<std::int64_t>();
    const auto parameters = plan.at("parameters").get<std::int64_t>();
    // 2 compute and 4 gradient, and a quarter of 4 master and 8 moments; the rest is padding.
    CHECK(kept >= 9 * parameters);
    CHECK(kept < 9 * parameters + parameters / 100);
    const auto& stages = plan.at("stages");
    REQUIRE(stages.size() == 2);
    const auto sent = [&](int stage) { return stages[stage].at("sent_bytes").get<double>(); };
    CHECK(std::fabs(sent(1) / sent(0) - 0.75) < 1e-3);
    CHECK(std::fabs(sent(0) / static_cast<double>(parameters) - 6) < 0.01);
    CHECK(stages[1].at("total_bytes") == plan.at("total_bytes"));
    CHECK(stages[0].at("total_bytes") > stages[1].at("total_bytes"));
}

TEST_CASE("what ranks cannot share is refused in one line, before anything is written") {
    const Prepared prepared;
    struct Refused {
        std::string options, told;
    };
    for (const auto& [options, told] :
         {Refused{"--zero 1 --optimizer adafactor", "adafactor updates whole matrices"},
          Refused{"--zero 2", "0|1"}, Refused{"--zero-ranks 2", "only with --zero 1"},
          Refused{"--ddp-backend zero2", "the stages 0 and 1"},
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

// SPDX-License-Identifier: Apache-2.0
// The program as users start it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

const std::string small = " --embedding-size 16 --n-layers 1 --ffn-size 16 ";

struct Prepared : PreparedDialogues {
    ProgramResult plan(const std::string& more) const {
        return run_line("lockstep plan --data " + data + " --device cpu " + more);
    }
};

}  // namespace

TEST_CASE("a plan says what a run takes, and whether it fits, by its exit code") {
    const Prepared prepared;
    const std::string options = small + "-bs 4 --num-epochs 1 -mf " + prepared.model;
    says(prepared.plan(options), 0,
         {"transformer/generator of", "weights, fp32", "optimizer", "activations", "this host",
          "--batchsize", "epoch", "It fits"});
    says(prepared.plan(options), 0, {"\n  free now  "});
    const auto given = prepared.plan(options + " --memory 8MiB");
    says(given, 1, {"given by --memory", "It does not fit"});
    CHECK(given.out.find("free now") == std::string::npos);  // it is not of this host
    says(prepared.plan(options + " --memory 8MiB --fit auto"), 1,
         {". --fit auto tried --moments fp32 or int8, --recompute none, ffn, layer:N or layer, "
          "--async-save true or false, and the least is ",
          ", shown above. What is left: "});
    // Afterwards of the model that is there, whose options need not be given again.
    const auto train =
        run_line("train --data " + prepared.data + options +
                 " --max-train-steps 1 --threads 1 -m gpt2 --moments int8 --update-freq 4 --quiet");
    REQUIRE_MESSAGE(train.code == 0, train.out << train.err);
    says(prepared.plan("-mf " + prepared.model), 0, {"gpt2 of"});
    says(run_line("lockstep plan --device cpu -mf " + prepared.model), 0, {"gpt2 of"});
    says(prepared.plan("--n-layers 2 -mf " + prepared.model), 2, {"--n-layers", "asks for 2"});
    const auto continued = run_line("lockstep plan --device cpu --json -mf " + prepared.model);
    REQUIRE_MESSAGE(continued.code == 0, continued.out << continued.err);
    const auto plan = nlohmann::json::parse(continued.out);
    CHECK(plan["moments"] == "int8");
    CHECK(plan["size"]["asked"] == 4);
    CHECK(plan["epoch"].is_object());
    // The lanes are the run's, however many ranks share them now.
    const auto shared = run_line(
        "lockstep plan --device cpu --json --distributed-world-size 2 -mf " + prepared.model);
    CHECK(nlohmann::json::parse(shared.out)["epoch"]["steps"] == plan["epoch"]["steps"]);
    // A run goes on with more ranks than it has lanes, also where its own number of them is named.
    // Its epoch is the same.
    const std::string five =
        "lockstep plan --device cpu --json --distributed-world-size 5 -mf " + prepared.model;
    const auto named = run_line(five + " --logical-shards 4");
    REQUIRE_MESSAGE(named.code == 0, named.out << named.err);
    const auto known = nlohmann::json::parse(run_line(five).out);
    CHECK(nlohmann::json::parse(named.out)["epoch"] == known["epoch"]);
    CHECK(known["epoch"]["steps"] == plan["epoch"]["steps"]);
    says(run_line("lockstep plan --device cpu --fit auto -mf " + prepared.model), 0,
         {" --batchsize 4 ", " --max-train-steps 1 ", " --moments fp32"});
}

TEST_CASE("a new run of more ranks than lanes is refused before it is planned") {
    says(run_line("lockstep plan --device cpu --vocabulary 9" + small +
                  "--logical-shards 1 --distributed-world-size 2"),
         2, {"--logical-shards 1: fewer than the 2 ranks"});
}

TEST_CASE("a plan for more ranks than there can be is refused") {
    for (const char* ranks : {"65537", "4294967299", "4611686018427387904"})
        says(run_line("lockstep plan --vocabulary 100" + small +
                      "--zero 3 --distributed-world-size " + ranks),
             2, {"--distributed-world-size", "at most 65536"});
}

TEST_CASE("a model of more buckets than a dry step can list is refused at once") {
    says(run_line("lockstep plan --vocabulary 100 --embedding-size 65536 --ffn-size 262144 "
                  "--n-layers 200 --n-heads 2 --distributed-world-size 16 --bucket-mb 1"),
         2, {"more than 1,048,576 buckets", "--bucket-mb"});
}

TEST_CASE("a micro-batch of more tokens than a dry run can list is refused at once") {
    const auto run = run_line(
        "lockstep plan --vocabulary 100 --embedding-size 16 --n-heads 2 -tr 1024 -bs 1000000");
    says(run, 2,
         {"plan: a micro-batch may have 2,", " tokens, more than the 16,777,216",
          "give a smaller --batchsize"});
}

TEST_CASE("as JSON a plan has the same values") {
    const Prepared prepared;
    const auto run = prepared.plan(small + "-dynb full -bs 2 --precision fp32 --json");
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    const auto plan = nlohmann::json::parse(run.out);
    std::int64_t sum = 0;
    for (const auto& part : plan["parts"]) sum += part["bytes"].get<std::int64_t>();
    CHECK(plan["total_bytes"] == sum);
    CHECK(plan["fits"] == true);
    CHECK(plan["free_bytes"] > 0);
    CHECK(plan["free_bytes"] <= plan["memory_bytes"]);
    CHECK(plan["precision"] == "fp32");
    CHECK(plan["size"]["option"] == "--batchsize");
    CHECK(plan["size"]["asked"] == 2);
    CHECK(plan["epoch"]["planned_rows"] == plan["epoch"]["rows"]);
    CHECK(plan["epoch"]["largest"]["activations_bytes"] <=
          plan["largest_batch"]["activations_bytes"]);
}

TEST_CASE("where an epoch's batches fit and the largest that may come do not, that is said") {
    const Prepared prepared;
    const std::string options = small + "-bs 30 --precision fp32 ";
    const auto plan = nlohmann::json::parse(prepared.plan(options + "--json").out);
    const std::int64_t most = plan["largest_batch"]["activations_bytes"],
                       epoch = plan["epoch"]["largest"]["activations_bytes"],
                       total = plan["total_bytes"];
    REQUIRE(epoch < most);
    const double between = static_cast<double>(total - (most - epoch) / 2) / 0x1p20;
    says(prepared.plan(options + "--memory " + std::to_string(between) + "MiB"), 1,
         {"It may not fit", "is safe"});
}

TEST_CASE("a GPU that is not here is planned for by its memory") {
    const std::string gpt2 =
        "lockstep plan --device cuda -m gpt2 --vocabulary 50257 --embedding-size 768 --n-layers 12 "
        "--ffn-size 3072 --n-heads 12 -bs 8 ";
    says(run_line(gpt2 + "--memory 80GiB"), 0,
         {"124,439,808 parameters in bf16", "CUDA's context", "8 rows with 8,192 tokens", "host"});
    says(run_line(gpt2 + "--memory 4GiB"), 1, {"take --batchsize", "--update-freq"});
    const auto none = run_line(gpt2, {"", {{"CUDA_VISIBLE_DEVICES", ""}}, ""});
    says(none, 2, {"--device cuda", "--memory 80GiB"});
    CHECK(std::count(none.err.begin(), none.err.end(), '\n') == 1);
}

TEST_CASE("the example of docs/plan.md is what the program prints") {
    const std::string page = read_text("docs/plan.md");
    const std::size_t typed = page.find("$ lockstep plan --data DATA ");
    REQUIRE(typed != std::string::npos);
    const std::size_t begin = page.find('\n', typed) + 1;
    const std::string command = page.substr(typed + 2, begin - typed - 3);
    const std::string shown = page.substr(begin, page.find("```", begin) - begin);
    const ScratchFolder scratch;
    const std::string data = scratch / "DATA";
    const auto prepared = run_line(
        "lockstep prepare --input examples/shakespeare/train.txt --valid "
        "examples/shakespeare/valid.txt --out " +
        data);
    REQUIRE(prepared.code == 0);
    std::string line = command;
    line.replace(line.find("DATA"), 4, data);
    const auto run = run_line(line);
    CHECK(run.code == 0);
    CHECK(run.out == shown);
}

// SPDX-License-Identifier: Apache-2.0
// --pipeline of the programs: ranks that have some layers each.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/launcher/programs/sharing_run.hpp"
#include "tests/support/program_checks.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using namespace lockstep::tests::sharing;

TEST_CASE(
    "processes that have the layers one after the other have the losses of one, and its replies") {
    Prepared prepared;
    const ValidatedDialogues validated(60);
    prepared.data = validated.data;
    const std::string all =
        " -m gpt2 --precision fp32 --validation-every-n-steps 5 --skip-generation false"
        " --max-train-steps ";
    prepared.run("train" + prepared.start("one", 4) + all + "10");
    const auto told = prepared.run(on(2) + prepared.start("two", 4) + all + "10 --pipeline 2");
    CHECK(holds(told, "2 stages have the layers one after the other, so that 1 place reads rows"));
    CHECK(holds(told, "with 4 micro-batches a stage waits 20 % of a step"));
    CHECK(furthest(prepared.losses("two"), prepared.losses("one")) < adam_tolerance);
    const auto valid = [&](const std::string& name) {
        std::vector<double> values;
        for (const auto& line : metrics(prepared.folder(name), "valid"))
            for (const std::string metric : {"ppl", "f1", "examples"})
                values.push_back(line.at(metric).get<double>());
        return values;
    };
    const auto one = valid("one"), two = valid("two");
    REQUIRE(one.size() >= 6);
    REQUIRE(two.size() == one.size());
    for (std::size_t i = 0; i < one.size(); ++i)
        CHECK(two[i] == doctest::Approx(one[i]).epsilon(1e-3));
    // Two places of two stages; then one rank goes on, and then two tensor ranks.
    prepared.run(on(4) + prepared.start("four", 4) + all + "4 --pipeline 2 --zero 1");
    const auto alone =
        prepared.run("train -mf " + prepared.folder("four") + " --max-train-steps 7");
    CHECK(holds(alone, "stages 2 -> 1"));
    prepared.run(on(2) + " -mf " + prepared.folder("four") + " --max-train-steps 10 --tensor 2");
    CHECK(furthest(prepared.losses("four"), prepared.losses("one")) < adam_tolerance);
}

TEST_CASE("plan tells what the stage that needs the most keeps and sends") {
    const Prepared prepared;
    const auto planned = [&](const std::string& more) {
        return nlohmann::json::parse(prepared.run(
            "lockstep plan -m gpt2 --vocabulary 50304 --embedding-size 768 --n-layers 12 "
            "--ffn-size 3072 --n-heads 12 -bs 1 --truncate 512 --device cpu --precision bf16 "
            "--json --update-freq 8 --distributed-world-size " +
            more));
    };
    const auto bytes = [](const nlohmann::json& plan, const std::string& name) {
        std::int64_t sum = 0;
        for (const auto& part : plan.at("parts"))
            if (part.at("name").get<std::string>().starts_with(name))
                sum += part.at("bytes").get<std::int64_t>();
        return sum;
    };
    const auto one = planned("1"), four = planned("4 --pipeline 4");
    CHECK(four.at("parameters") == one.at("parameters"));
    CHECK(four.at("pipeline_stage") == 0);
    // The head is worth 5 layers, so that the first stage has 3 of the 12, and the tables.
    const std::int64_t d = 768, tables = 50304 * d + 1024 * d + 2 * d;
    const std::int64_t layer = 12 * d * d + 13 * d;
    const std::int64_t gradients = 4 * (tables + 3 * layer);
    CHECK(std::abs(bytes(four, "gradients") - gradients) < 4 * 256 * 50);
    // Rows of 8 micro-batches of a context and a label go forward; the table's sum is among two.
    const std::int64_t rows = 8 * (2 * 512) * d * 2, table = 4 * 50304 * d;
    CHECK(four.at("sent").at("pipeline").get<std::int64_t>() == rows + table);
}

TEST_CASE("stages that a model or a run cannot have are refused in one line") {
    const Prepared prepared;
    struct Refused {
        std::string options, told;
    };
    for (const auto& [options, told] :
         {Refused{"--pipeline 3 -m gpt2", "--pipeline 3: the model has 2 layers; give 2"},
          Refused{"--pipeline 2 -m gpt2",
                  "--pipeline 2: does not divide the 3 ranks; give 1, or start 4 ranks"},
          Refused{"--pipeline 2", "--pipeline 2: a model with an encoder has no stages"},
          Refused{"--pipeline 2 -m gpt2 --zero 2", "; give --zero 1"},
          Refused{"--pipeline 2 -m gpt2 --ddp-backend zero3", "; give --zero 1"},
          Refused{"--pipeline 2 -m gpt2 --tensor 2", "give --pipeline 1, or --tensor 1"},
          Refused{"--pipeline 2 -m gpt2 --device cuda", "--device cpu"},
          Refused{"--pipeline 2 -m gpt2 --precision fp16", "--precision bf16"},
          Refused{"--pipeline 2 -m gpt2 --deterministic", "or leave --deterministic out"},
          Refused{"--pipeline 2 -m gpt2 --optimizer adafactor", "or another --optimizer"},
          Refused{"--pipeline 2 -m gpt2 --moments int8", "or --moments fp32"},
          Refused{"--pipeline 2 -m gpt2 --lora-r 4", "or leave --lora-r and --lora out"},
          Refused{"--pipeline 0", "--pipeline"}})
        for (const std::string& program :
             {on(3), std::string("lockstep plan --distributed-world-size 3")}) {
            const std::string& given = options;
            CAPTURE(given);
            const auto run =
                run_line(program + prepared.start("new") + " --max-train-steps 2 " + options);
            INFO(run.err);
            CHECK(run.code == 2);
            CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
            CHECK(holds(run.err, told));
            CHECK_FALSE(std::filesystem::exists(prepared.folder("new")));
        }
}

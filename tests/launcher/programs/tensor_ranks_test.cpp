// SPDX-License-Identifier: Apache-2.0
// --tensor of the programs: ranks that compute each layer together.
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

TEST_CASE("processes that compute each layer together have the losses of one, and its replies") {
    Prepared prepared;
    const ValidatedDialogues validated(60);
    prepared.data = validated.data;
    const std::string all =
        " --precision fp32 --validation-every-n-steps 5 --skip-generation false"
        " --max-train-steps ";
    prepared.run("train" + prepared.start("one", 2) + all + "10");
    prepared.run(on(2) + prepared.start("two", 2) + all + "10 --tensor 2");
    CHECK(furthest(prepared.losses("two"), prepared.losses("one")) < adam_tolerance);
    const auto replies = [&](const std::string& name) {
        std::vector<double> values;
        for (const auto& line : metrics(prepared.folder(name), "valid"))
            for (const std::string metric : {"ppl", "f1", "examples"})
                values.push_back(line.at(metric).get<double>());
        return values;
    };
    REQUIRE(replies("one").size() >= 6);
    const auto one = replies("one"), two = replies("two");
    REQUIRE(two.size() == one.size());
    for (std::size_t i = 0; i < one.size(); ++i)
        CHECK(two[i] == doctest::Approx(one[i]).epsilon(1e-3));
    // Two places of two ranks; then one rank goes on.
    const auto told = prepared.run(on(4) + prepared.start("four", 2) + all + "6 --tensor 2");
    CHECK(holds(told, "2 ranks compute each layer together, so that 2 places read rows"));
    const auto alone =
        prepared.run("train -mf " + prepared.folder("four") + " --max-train-steps 10");
    CHECK(holds(alone, "tensor ranks 2 -> 1"));
    CHECK(furthest(prepared.losses("four"), prepared.losses("one")) < adam_tolerance);
}

TEST_CASE("plan tells what a tensor rank keeps and sends") {
    const Prepared prepared;
    const auto planned = [&](const std::string& more) {
        return nlohmann::json::parse(prepared.run(
            "lockstep plan -m gpt2 --vocabulary 50304 --embedding-size 768 --n-layers 12 "
            "--ffn-size 3072 --n-heads 12 -bs 1 --truncate 512 --device cpu --precision bf16 "
            "--json --distributed-world-size " +
            more));
    };
    const auto bytes = [](const nlohmann::json& plan, const std::string& name) {
        std::int64_t sum = 0;
        for (const auto& part : plan.at("parts"))
            if (part.at("name").get<std::string>().starts_with(name))
                sum += part.at("bytes").get<std::int64_t>();
        return sum;
    };
    const auto one = planned("1"), four = planned("4 --tensor 4");
    // Matrices of layers are divided; the tables, norms and biases behind sums are not.
    const std::int64_t d = 768, kept = 50304 * d + 1024 * d + 12 * 6 * d + 2 * d;
    const std::int64_t layers = 12 * (12 * d * d + 7 * d), bias = 12 * 7 * d;
    CHECK(std::abs(bytes(four, "gradients") - 4 * (kept + (layers - bias) / 4 + bias / 4)) <
          4 * 256 * 150);
    CHECK(bytes(four, "activations") < bytes(one, "activations"));
    // 10 exchanges of a layer's rows, of a context and a label, and the sums of what is shared.
    const std::int64_t rows = 12 * 10 * (2 * 512) * d * 2 * 3 / 4;
    CHECK(four.at("sent").at("tensor").get<std::int64_t>() == rows + 2 * 3 * kept);
}

TEST_CASE("layers that ranks cannot divide are refused in one line") {
    const Prepared prepared;
    struct Refused {
        std::string options, told;
    };
    for (const auto& [options, told] :
         {Refused{"--tensor 32", "--tensor 32: at most 16 ranks compute a layer together; give 16"},
          Refused{"--tensor 4", "--tensor 4: does not divide the model's 2 heads; give 2"},
          Refused{"--tensor 3", "--tensor 3: does not divide 16, of which"},
          Refused{"--tensor 2 --ffn-size 65", "--tensor 2: does not divide the model's 65 columns"},
          Refused{"--tensor 2 --relu-dropout 0.1 --ffn-size 68", "; give 1"},
          Refused{"--tensor 2",
                  "--tensor 2: does not divide the 3 ranks; give 1, or start 4 ranks"},
          Refused{"--tensor 2 --deterministic", "--tensor 2: --deterministic does not hold"},
          Refused{"--tensor 2 --optimizer adafactor", "--tensor 2: adafactor updates whole"},
          Refused{"--tensor 2 --moments int8", "give --tensor 1, or --moments fp32"},
          Refused{"--tensor 2 --zero 3 --skip-generation false", "; give --zero 2, or"},
          Refused{"--tensor 0", "--tensor"}})
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

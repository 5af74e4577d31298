// SPDX-License-Identifier: Apache-2.0
// A model that ParlAI trained, evaluated and talked to by the program: ParlAI's own figures and
// replies, which make_parlai_model_golden.py wrote.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using nlohmann::json;

namespace {

const std::string golden = "tests/golden/parlai/";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// Each row's history as one line, in which \n is a line feed.
std::string prompts() {
    std::string all, history;
    for (const std::string& row : lines_of(read_text(golden + "rows.txt"))) {
        const std::size_t label = row.find("\tlabels:");
        const std::size_t done = row.find("\tepisode_done:");
        history += row.substr(5, label - 5);
        all += history + "\n";
        history += "\\n" + row.substr(label + 8, done - label - 8) + "\\n";
        if (done != std::string::npos) history.clear();
    }
    return all;
}

std::map<std::string, double> figures(const std::string& printed) {
    std::map<std::string, double> found;
    for (const std::string& line : lines_of(printed)) {
        std::istringstream in(line);
        std::string split, metric;
        if (double value = 0; in >> split >> metric >> value && split == "valid")
            found[metric] = value;
    }
    return found;
}

}  // namespace

TEST_CASE("a model from ParlAI has ParlAI's figures, those of its replies, too") {
    const ScratchFolder scratch;
    const auto expected = json::parse(read_text(golden + "expected.json"));
    const auto prepared =
        run_line("lockstep prepare --format parlai --input " + golden + "rows.txt --valid " +
                 golden + "rows.txt --dict-file " + golden +
                 "model/dictionary.txt --dict-lower true --out " + (scratch / "data"));
    REQUIRE_MESSAGE(prepared.code == 0, prepared.out << prepared.err);
    for (const json& search : expected.at("searches")) {
        std::string line = "lockstep eval --split valid --precision fp32 -bs 7 -mf " + golden +
                           "model --data " + (scratch / "data");
        for (const json& option : search.at("options")) line += " " + option.get<std::string>();
        CAPTURE(line);
        const auto evaluated = run_line(line);
        REQUIRE_MESSAGE(evaluated.code == 0, evaluated.out << evaluated.err);
        auto found = figures(evaluated.out);
        CHECK(found["tokens"] == expected.at("tokens").get<double>());
        json wanted = search.at("metrics");
        wanted.update({{"loss", expected.at("loss")}, {"token_acc", expected.at("token_acc")}});
        for (const auto& [metric, value] : wanted.items()) {
            CAPTURE(metric);
            CHECK(found[metric] == doctest::Approx(value.get<double>()).epsilon(1e-5));
        }
    }
}

TEST_CASE("a model from ParlAI gives ParlAI's replies, greedy and by beams") {
    const ScratchFolder scratch;
    const auto expected = json::parse(read_text(golden + "expected.json"));
    write_text(scratch / "prompts.txt", prompts());
    for (const json& search : expected.at("searches")) {
        std::vector<std::string> command{"lockstep",    "generate",
                                         "-mf",         golden + "model",
                                         "--precision", "fp32",
                                         "-bs",         "7",
                                         "--input",     scratch / "prompts.txt",
                                         "--output",    scratch / "replies.txt",
                                         "--overwrite", "true"};
        for (const json& option : search.at("options")) command.push_back(option);
        CAPTURE(search.at("options").dump());
        const auto run = run_program(command);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        const auto replies = lines_of(read_text(scratch / "replies.txt"));
        REQUIRE(replies.size() == search.at("replies").size());
        for (std::size_t row = 0; row < replies.size(); ++row) {
            CAPTURE(row);
            CHECK(replies[row] == search.at("replies")[row].get<std::string>());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

// Programs on the tiny GPT-2 of transformers, whose figures make_huggingface_golden.py wrote.
namespace lockstep::tests::huggingface {

using nlohmann::json;

inline const std::string golden = "tests/golden/huggingface/", folder = golden + "gpt2";

inline json expected() { return json::parse(read_text(golden + "expected.json")); }

inline std::string conversation(const std::string& context, const std::string& label) {
    return json{{"messages",
                 {{{"role", "user"}, {"content", context}},
                  {{"role", "assistant"}, {"content", label}}}}}
               .dump() +
           "\n";
}

inline ProgramResult run_well(const std::string& line) {
    CAPTURE(line);
    ProgramResult result = run_line(line);
    REQUIRE_MESSAGE(result.code == 0, result.out << result.err);
    return result;
}

inline void refused(const std::string& line, std::initializer_list<const char*> parts) {
    CAPTURE(line);
    const ProgramResult result = run_line(line);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const char* part : parts) CHECK(contains(result.err, part));
}

// Prepares the rows that transformers calculated.
inline std::string prepare_rows(const ScratchFolder& scratch, const std::string& like = folder) {
    std::string text;
    const json all = expected().at("rows");
    for (const json& row : all) text += conversation(row.at("context"), row.at("label"));
    write_text(scratch / "rows.jsonl", text);
    run_well("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") +
             " --valid " + (scratch / "rows.jsonl") + " --like " + like + " --out " +
             (scratch / "data"));
    return scratch / "data";
}

inline std::map<std::string, double> figures(const std::string& printed) {
    std::map<std::string, double> found;
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::string split, metric;
        if (double value = 0; in >> split >> metric >> value && split == "valid")
            found[metric] = value;
    }
    return found;
}

inline const char* const of_init =
    " --model gpt2 --precision fp32 --init-model tests/golden/huggingface/gpt2 ";

}  // namespace lockstep::tests::huggingface

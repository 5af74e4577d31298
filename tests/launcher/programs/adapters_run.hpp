// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/train/checkpoint/safetensors_header.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

// Programs on adapters (LoRA) of tiny models of transformers: PEFT's own, which
// make_adapter_goldens.py wrote.
namespace lockstep::tests::adapter_runs {

using nlohmann::json;

inline const std::string adapters = "tests/golden/adapters/",
                         gpt2 = "tests/golden/huggingface/gpt2";

inline ProgramResult ran(const std::string& line) {
    CAPTURE(line);
    ProgramResult result = run_line(line);
    REQUIRE_MESSAGE(result.code == 0, result.out << result.err);
    return result;
}

inline void refuses(const std::string& line, std::initializer_list<const char*> parts) {
    CAPTURE(line);
    const ProgramResult result = run_line(line);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const char* part : parts) CHECK(contains(result.err, part));
}

inline void copy_files(const std::string& from, const std::string& to) {
    for (const auto& entry : std::filesystem::directory_iterator(from))
        write_text(to + "/" + entry.path().filename().string(), read_text(entry.path()));
}

inline std::string prepare(const ScratchFolder& scratch, const std::string& like = gpt2) {
    std::string text;
    const json expected = json::parse(read_text("tests/golden/huggingface/expected.json"));
    for (const json& row : expected.at("rows"))
        text += json{{"messages",
                      {{{"role", "user"}, {"content", row.at("context")}},
                       {{"role", "assistant"}, {"content", row.at("label")}}}}}
                    .dump() +
                "\n";
    write_text(scratch / "rows.jsonl", text);
    std::string data = scratch / (like == gpt2 ? "data" : "data_of_other");
    ran("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") + " --valid " +
        (scratch / "rows.jsonl") + " --like " + like + " --out " + data + " --overwrite");
    return data;
}

// Returns a folder of a LLaMA with the tokenizer of the GPT-2.
inline std::string llama_in(const ScratchFolder& scratch) {
    std::string made = scratch / "llama";
    for (const char* name : {"config.json", "model.safetensors"})
        write_text(made + "/" + name,
                   read_text("tests/golden/families/llama_groups_of_3/" + std::string(name)));
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
        write_text(made + "/" + name, read_text(gpt2 + "/" + name));
    write_text(made + "/generation_config.json", R"({"bos_token_id": 319, "eos_token_id": 319})");
    return made;
}

// Returns a folder with the adapters whose base is at `base`.
inline std::string adapter_in(const ScratchFolder& scratch, const std::string& name,
                              const std::string& base) {
    std::string made = scratch / ("adapter_" + name);
    copy_files(adapters + name, made);
    auto config = json::parse(read_text(made + "/adapter_config.json"));
    config["base_model_name_or_path"] = std::filesystem::absolute(base).string();
    write_text(made + "/adapter_config.json", config.dump());
    return made;
}

inline std::map<std::string, std::vector<float>> tensors_of(const std::string& path) {
    std::map<std::string, std::vector<float>> all;
    const train::OpenedSafetensors opened = train::open_safetensors(path);
    for (const train::TensorInfo& tensor : opened.tensors) {
        REQUIRE(tensor.type == Dtype::fp32);
        auto& values = all[tensor.name];
        values.resize(tensor.count);
        train::read_at(opened.part.file, path, tensor.name, tensor.offset, values.data(),
                       values.size() * sizeof(float));
    }
    return all;
}

inline void check_alike(const std::map<std::string, std::vector<float>>& own,
                        const std::map<std::string, std::vector<float>>& wanted, double tolerance) {
    CHECK(own.size() == wanted.size());
    for (const auto& [name, values] : wanted) {
        const std::string& tensor = name;
        CAPTURE(tensor);
        REQUIRE(own.contains(name));
        const auto& found = own.at(name);
        REQUIRE(found.size() == values.size());
        double largest = 0, error = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            largest = std::max(largest, std::abs(double{values[i]}));
            error = std::max(error, std::abs(double{found[i]} - values[i]));
        }
        CHECK(error <= tolerance * largest);
    }
}

inline double loss_of(const std::string& model, const std::string& data) {
    const auto result =
        ran("lockstep eval --precision fp32 -mf " + model + " --data " + data + " --split valid");
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::string split, metric;
        if (double value = 0;
            in >> split >> metric >> value && split == "valid" && metric == "loss")
            return value;
    }
    FAIL("no loss: " << result.out);
    return 0;
}

inline std::string reply_of(const std::string& model, const ScratchFolder& scratch) {
    write_text(scratch / "prompt", "Speak, speak.\n");
    return json::parse(ran("lockstep generate -mf " + model + " --precision fp32 --input " +
                           (scratch / "prompt") + " --inference greedy --json")
                           .out)
        .at("reply");
}

inline const char* const steps =
    " --precision fp32 --threads 1 -lr 0.01 --lr-scheduler none --warmup-updates -1 ";

}  // namespace lockstep::tests::adapter_runs

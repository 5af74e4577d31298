// SPDX-License-Identifier: Apache-2.0
// A GPT-2 of transformers, prepared for, evaluated, trained on and talked to by the program:
// transformers' own figures and replies, which make_huggingface_golden.py wrote.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "tests/launcher/programs/huggingface_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::tests::huggingface;
using nlohmann::json;

TEST_CASE("rows of a GPT-2 of transformers have its tokens, its loss and its gradients") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch), model = scratch / "model";
    const json wanted = expected();
    const auto evaluated = run_well("lockstep eval --precision fp32 -mf " + folder + " --data " +
                                    data + " --split valid");
    auto found = figures(evaluated.out);
    CHECK(found["tokens"] == wanted.at("tokens").get<double>());
    CHECK(found["loss"] == doctest::Approx(wanted.at("loss").get<double>()).epsilon(1e-5));
    // One step of rate 1 by plain gradients.
    run_well("lockstep train" + std::string(of_init) + "-mf " + model + " --data " + data +
             " --optimizer sgd --momentum 0 -lr 1 --lr-scheduler none --warmup-updates -1 "
             "--gradient-clip 0 -bs 4 --max-train-steps 1");
    train::SafetensorsFile weights(model + "/checkpoints/step-00000001/model.safetensors");
    for (const auto& [theirs, values] : wanted.at("after_one_step_of_rate_1").items()) {
        CAPTURE(theirs);
        const auto known = train::of_transformers(theirs);
        REQUIRE(known);
        const train::TensorInfo* tensor = weights.find(known->name);
        REQUIRE(tensor != nullptr);
        std::vector<float> own(tensor->count);
        weights.read(*tensor, view_of(own));
        double squares = 0;
        for (const float value : own) squares += double{value} * value;
        CHECK(std::sqrt(squares) == doctest::Approx(values.at("norm").get<double>()).epsilon(1e-5));
        const auto rows = static_cast<std::size_t>(tensor->shape.front());
        const std::size_t columns = own.size() / rows;
        for (std::size_t i = 0; i < 4; ++i) {
            const float value = known->turned ? own[i % rows * columns + i / rows] : own[i];
            CHECK(value == doctest::Approx(values.at("first")[i].get<double>()).epsilon(1e-5));
        }
    }
    CHECK(weights.tensors().size() == wanted.at("after_one_step_of_rate_1").size());
}

TEST_CASE("options of a GPT-2's shape that are its own change nothing") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch);
    const std::string line = "lockstep train" + std::string(of_init) + "--data " + data +
                             " --max-train-steps 1 -mf " + (scratch / "m");
    refused(line + " --n-layers 3", {"--n-layers asks for 3", "has 2"});
    run_well(
        line + " --n-layers 2 --n-heads " +
        std::to_string(json::parse(read_text(folder + "/config.json")).at("n_head").get<int>()));
}

TEST_CASE("greedy replies are those of transformers, from its folder and from a run of it") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch), model = scratch / "model";
    run_well("lockstep train" + std::string(of_init) + "-mf " + model + " --data " + data +
             " --optimizer sgd -lr 0.0000000001 -bs 4 --max-train-steps 1");
    std::string prompts;
    const json all = expected().at("greedy");
    for (const json& reply : all) prompts += json{{"text", reply.at("prompt")}}.dump() + "\n";
    write_text(scratch / "prompts.jsonl", prompts);
    for (const std::string& from : {folder, model}) {
        CAPTURE(from);
        // transformers counts words, and Lockstep also the end.
        const auto said =
            run_well("lockstep generate -mf " + from + " --input " + (scratch / "prompts.jsonl") +
                     " --inference greedy --max-length 13 --json");
        std::istringstream lines(said.out);
        for (const json& wanted : all) {
            std::string line;
            REQUIRE(std::getline(lines, line));
            const json reply = json::parse(line);
            CAPTURE(line);
            CHECK(reply.at("tokens") == wanted.at("ids").size());
            CHECK(reply.at("reply") == wanted.at("reply"));
        }
    }
}

TEST_CASE("plain text has each block's tokens predicted from the token before it") {
    const ScratchFolder scratch;
    const json wanted = expected().at("documents");
    write_text(scratch / "plain.txt", wanted.at("text").get<std::string>());
    run_well("lockstep prepare --format text --block-size " +
             std::to_string(wanted.at("block_size").get<int>()) + " --input " +
             (scratch / "plain.txt") + " --valid " + (scratch / "plain.txt") + " --like " + folder +
             " --out " + (scratch / "data"));
    const auto evaluated = run_well("lockstep eval --precision fp32 -mf " + folder + " --data " +
                                    (scratch / "data") + " --split valid");
    auto found = figures(evaluated.out);
    CHECK(found["tokens"] == wanted.at("tokens").get<double>());
    CHECK(found["loss"] == doctest::Approx(wanted.at("loss").get<double>()).epsilon(1e-5));
}

TEST_CASE("rows of plain text are no longer than the model of --like reads") {
    const ScratchFolder scratch;
    const std::string line =
        "lockstep prepare --format text --input examples/shakespeare/valid.txt "
        "--overwrite --out " +
        (scratch / "d") + " --like " + folder;
    const auto block_of = [&] {
        return json::parse(read_text(scratch / "d/dataset.json")).at("options").at("block_size");
    };
    CHECK(contains(run_well(line).out, "reads 48 tokens of a row"));
    CHECK(block_of() == 48);
    CHECK(!contains(run_well(line + " --block-size 32").out, "tokens of a row"));
    CHECK(block_of() == 32);
    CHECK(contains(run_well(line + " --block-size 49").out, "warning: --block-size 49"));
    CHECK(block_of() == 49);
}

TEST_CASE("prompts that are longer than the model's positions are told once with their number") {
    const ScratchFolder scratch;
    const std::string longer(200, 'a'), shorter = "a";
    const std::string line = "lockstep generate -mf " + folder +
                             " --inference greedy "
                             "--max-length 4 --prompt " +
                             shorter;
    CHECK(!contains(run_well(line).err, "too long"));
    const auto one = run_well(line + " --prompt " + longer);
    CHECK(contains(one.err, "1 prompt is too long for the model's 48 positions"));
    const auto two = run_well(line + " --prompt " + longer + " --prompt " + longer + "b");
    CHECK(contains(two.err, "2 prompts are too long for the model's 48 positions"));
    CHECK(std::count(two.err.begin(), two.err.end(), '\n') == 1);
}

namespace {

// A folder of a LLaMA with the tokenizer of the GPT-2, which begins texts with a token of its own.
std::string make_llama(const ScratchFolder& scratch) {
    const std::string made = scratch / "llama", from = "tests/golden/families/llama_groups_of_3/";
    for (const char* name : {"config.json", "model.safetensors"})
        write_text(made + "/" + name, read_text(from + name));
    auto tokenizer = json::parse(read_text(folder + "/tokenizer.json"));
    const json begin{{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}},
        text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
        second{{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    tokenizer["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {begin, text}},
        {"pair", {begin, text, second}},
        {"special_tokens",
         {{"<|endoftext|>",
           {{"id", "<|endoftext|>"}, {"ids", {319}}, {"tokens", {"<|endoftext|>"}}}}}}};
    write_text(made + "/tokenizer.json", tokenizer.dump());
    write_text(made + "/tokenizer_config.json",
               R"({"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
                   "tokenizer_class": "PreTrainedTokenizerFast"})");
    return made;
}

}  // namespace

TEST_CASE("replies that may have no room are told of, whoever asks for them") {
    const ScratchFolder scratch;
    const std::string llama = make_llama(scratch), data = scratch / "data";
    std::string rows, prompts;
    for (int i = 0; i < 16; ++i) {
        rows += conversation("Speak", " no more");
        prompts += "Speak\n";
    }
    write_text(scratch / "rows.jsonl", rows);
    write_text(scratch / "prompts", prompts);
    run_well("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") + " --like " +
             llama + " --out " + data);
    // 16 replies of a million tokens and 1,024 hypotheses take 3 TiB.
    json config = json::parse(read_text(llama + "/config.json"));
    config["max_position_embeddings"] = 1 << 20;
    write_text(llama + "/config.json", config.dump());
    const std::string line = " -mf " + llama +
                             " --precision fp32 --threads 1 -bs 16 --inference beam --beam-size "
                             "1024 --max-length 1048576 ";
    for (const std::string& program :
         {"lockstep generate --input " + (scratch / "prompts") + line,
          "lockstep display_model --split train -n 16 --data " + data + line}) {
        const ProgramResult run = run_line(program);
        CHECK_MESSAGE(contains(run.err, "16 prompts at once take up to 3 TiB"), run.err);
        CHECK(contains(run.err, "give a smaller --beam-size or --max-length\n"));
    }
}

TEST_CASE("ranks that share a LLaMA of transformers write the same bits as one that does not") {
    const ScratchFolder scratch;
    const std::string llama = make_llama(scratch), data = prepare_rows(scratch, llama);
    const auto trained = [&](const std::string& name, int ranks, const std::string& more) {
        run_well("lockstep multiprocessing_train --distributed-world-size " +
                 std::to_string(ranks) + " --init-model " + llama + " -mf " + (scratch / name) +
                 " --data " + data +
                 " --precision fp32 --threads 1 -bs 1 -lr 0.01 --lr-scheduler none "
                 "--max-train-steps 2 " +
                 more);
        return read_text(scratch / (name + "/checkpoints/step-00000002/model.safetensors"));
    };
    const std::string one = trained("one", 1, "--deterministic --logical-shards 3");
    for (const int ranks : {2, 3}) {
        const std::string id = std::to_string(ranks);
        CHECK(trained("d" + id, ranks, "--deterministic --logical-shards 3 --zero 1") == one);
        const std::string whole = trained("w" + id, ranks, "--zero 0");
        for (const char* const stage : {"1", "2", "3"})
            CHECK(trained("s" + id + stage, ranks, std::string("--zero ") + stage) == whole);
    }
    const auto config = json::parse(read_text(scratch / "one/lockstep.json"));
    CHECK(config.at("model") == "llama");
    CHECK(config.at("n_kv_heads") == 2);
    CHECK(read_text(scratch / "one/tokenizer.json") == read_text(llama + "/tokenizer.json"));
    write_text(scratch / "prompt", "Speak, speak.\n");
    const std::string reply = " --input " + (scratch / "prompt") + " --inference greedy --json";
    CHECK(json::parse(run_well("lockstep generate -mf " + llama + reply).out).contains("reply"));
    CHECK(json::parse(run_well("lockstep generate -mf " + (scratch / "one") + reply).out)
              .contains("reply"));
    refused("lockstep train --max-train-steps 1 --data " + data + " -mf " + (scratch / "x") +
                " --init-model " + llama + " --relu-dropout 0.1",
            {"--relu-dropout"});
}

TEST_CASE("a reply ends with the ends of config.json where no settings of generation are") {
    const ScratchFolder scratch;
    const std::string copy = scratch / "copy";
    std::filesystem::copy(folder, copy);
    std::filesystem::remove(copy + "/generation_config.json");
    const std::string line =
        "lockstep generate --inference greedy --max-length 8 --json --prompt a";
    const json whole = json::parse(run_well(line + " -mf " + copy).out);
    REQUIRE(whole.at("tokens") > 2);
    json config = json::parse(read_text(copy + "/config.json"));
    std::vector<int> all(319);
    std::iota(all.begin(), all.end(), 0);
    config["eos_token_id"] = all;
    std::filesystem::permissions(copy + "/config.json", std::filesystem::perms::owner_all);
    write_text(copy + "/config.json", config.dump());
    const json cut = json::parse(run_well(line + " -mf " + copy).out);
    CHECK(cut.at("tokens") < whole.at("tokens"));
}

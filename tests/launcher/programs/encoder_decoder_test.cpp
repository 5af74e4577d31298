// SPDX-License-Identifier: Apache-2.0
// A BART of transformers, prepared for, evaluated, trained on and talked to by the program: its
// loss and replies are transformers' own, which make_family_goldens.py wrote.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using nlohmann::json;

namespace {

const std::string weights = "tests/golden/families/bart/",
                  tokenizer = "tests/golden/huggingface/gpt2/tokenizer.json";

json of_bart() { return json::parse(read_text(weights + "expected.json")); }

// A folder of the BART with the tokenizer of the GPT-2, whose only special token is around texts.
std::string make_bart(const ScratchFolder& scratch, const json& settings = nullptr) {
    const std::string made = scratch / (settings.is_null() ? "bart" : "bart-with-settings");
    for (const char* name : {"config.json", "model.safetensors"})
        write_text(made + "/" + name, read_text(weights + name));
    auto content = json::parse(read_text(tokenizer));
    const json end{{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}},
        text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
        second{{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    content["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {end, text, end}},
        {"pair", {end, text, end, second}},
        {"special_tokens",
         {{"<|endoftext|>",
           {{"id", "<|endoftext|>"}, {"ids", {319}}, {"tokens", {"<|endoftext|>"}}}}}}};
    write_text(made + "/tokenizer.json", content.dump());
    write_text(made + "/tokenizer_config.json",
               R"({"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
                   "tokenizer_class": "PreTrainedTokenizerFast"})");
    if (!settings.is_null()) write_text(made + "/generation_config.json", settings.dump());
    return made;
}

ProgramResult succeeded(const std::string& line) {
    CAPTURE(line);
    ProgramResult result = run_line(line);
    REQUIRE_MESSAGE(result.code == 0, result.out << result.err);
    return result;
}

void refused_line(const std::string& line, std::initializer_list<const char*> parts) {
    CAPTURE(line);
    const ProgramResult result = run_line(line);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const char* part : parts) CHECK(contains(result.err, part));
}

std::string prepare_talks(const ScratchFolder& scratch, const std::string& like) {
    std::string text;
    const json all = of_bart().at("talks");
    for (const json& talk : all)
        text += json{{"messages",
                      {{{"role", "user"}, {"content", talk[0]}},
                       {{"role", "assistant"}, {"content", talk[1]}}}}}
                    .dump() +
                "\n";
    write_text(scratch / "talks.jsonl", text);
    succeeded("lockstep prepare --format messages --input " + (scratch / "talks.jsonl") +
              " --valid " + (scratch / "talks.jsonl") + " --like " + like + " --out " +
              (scratch / "data"));
    return scratch / "data";
}

double figure(const std::string& printed, const std::string& wanted) {
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::string split, metric;
        double value = 0;
        if (in >> split >> metric >> value && split == "valid" && metric == wanted) return value;
    }
    return -1;
}

std::vector<json> replies(const ScratchFolder& scratch, const std::string& model) {
    std::string prompts;
    const json all = of_bart().at("talks");
    for (const json& talk : all) prompts += json{{"text", talk[0]}}.dump() + "\n";
    write_text(scratch / "prompts.jsonl", prompts);
    std::istringstream lines(succeeded("lockstep generate -mf " + model + " --input " +
                                       (scratch / "prompts.jsonl") +
                                       " --inference greedy --max-length 9 --json")
                                 .out);
    std::vector<json> found;
    for (std::string line; std::getline(lines, line);) found.push_back(json::parse(line));
    return found;
}

}  // namespace

TEST_CASE("rows of a BART have its tokens around both sides, its loss and its replies") {
    const ScratchFolder scratch;
    const std::string bart = make_bart(scratch), data = prepare_talks(scratch, bart);
    const auto of_data = json::parse(read_text(data + "/dataset.json"));
    CHECK(of_data.at("special_tokens") ==
          json::parse(R"({"null": null, "start": 319, "begin": 319, "ends": [319], "unk": null})"));
    const std::string model = scratch / "model";
    succeeded("lockstep train --init-model " + bart + " -mf " + model + " --data " + data +
              " --precision fp32 -bs 3 -lr 0.0000000001 --optimizer sgd --max-train-steps 1");
    const json wanted = of_bart();
    for (const std::string& from : {bart, model}) {
        CAPTURE(from);
        const std::string out = succeeded("lockstep eval --precision fp32 --split valid -mf " +
                                          from + " --data " + data)
                                    .out;
        CHECK(figure(out, "tokens") == wanted.at("talk_tokens").get<double>());
        CHECK(figure(out, "loss") ==
              doctest::Approx(wanted.at("talk_loss").get<double>()).epsilon(1e-5));
        const auto said = replies(scratch, from);
        REQUIRE(said.size() == wanted.at("talk_replies").size());
        for (std::size_t i = 0; i < said.size(); ++i)
            CHECK(said[i].at("reply") == wanted.at("talk_replies")[i]);
    }
    const auto same = run_line("lockstep checkpoint diff --tolerance 1e-6 " + model + " " + bart);
    CAPTURE(same.err);
    CHECK(same.code == 0);
    CHECK(read_text(model + "/tokenizer.json") == read_text(bart + "/tokenizer.json"));
}

TEST_CASE("replies begin with the token that the settings of generation force") {
    const ScratchFolder scratch;
    const std::string bart = make_bart(
        scratch,
        {{"eos_token_id", 319}, {"decoder_start_token_id", 319}, {"forced_bos_token_id", 35}});
    const std::string data = prepare_talks(scratch, bart), model = scratch / "model";
    succeeded("lockstep train --init-model " + bart + " -mf " + model + " --data " + data +
              " --precision fp32 -bs 3 --max-train-steps 1");
    const auto pieces = json::parse(read_text(tokenizer)).at("model").at("vocab");
    std::string piece;
    for (const auto& [text, id] : pieces.items())
        if (id == 35) piece = text;
    for (const std::string& from : {bart, model})
        for (const json& reply : replies(scratch, from))
            CHECK(reply.at("reply").get<std::string>().starts_with(piece));
}

TEST_CASE("a list of tokens in the place of one is refused with its file and name") {
    for (const json& ids : {json{1, 2}, json::array()}) {
        const ScratchFolder scratch;
        const std::string bart =
            make_bart(scratch, {{"eos_token_id", 319}, {"forced_bos_token_id", ids}});
        write_text(scratch / "talks.jsonl", "{}");
        const std::string told = "\"forced_bos_token_id\" is not one id, but a list of " +
                                 std::to_string(ids.size()) + "; copy the file again";
        refused_line("lockstep prepare --format messages --like " + bart + " --out " +
                         (scratch / "data") + " --input " + (scratch / "talks.jsonl"),
                     {"/generation_config.json: is damaged: ", told.c_str()});
    }
}

TEST_CASE("ranks that share a BART write the same bits as ranks that do not") {
    const ScratchFolder scratch;
    const std::string bart = make_bart(scratch), data = prepare_talks(scratch, bart);
    const auto trained = [&](const std::string& name, int ranks, const std::string& more) {
        succeeded("lockstep multiprocessing_train --distributed-world-size " +
                  std::to_string(ranks) + " --init-model " + bart + " -mf " + (scratch / name) +
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
}

TEST_CASE("what does not fit a BART of transformers is refused in one line") {
    const ScratchFolder scratch;
    const std::string bart = make_bart(scratch), data = prepare_talks(scratch, bart);
    const std::string train = "lockstep train --max-train-steps 1 -mf " + (scratch / "m");
    write_text(scratch / "plain.txt", "Speak, speak.\n");
    succeeded("lockstep prepare --format text --input " + (scratch / "plain.txt") + " --like " +
              bart + " --out " + (scratch / "plain"));
    refused_line(train + " --init-model " + bart + " --data " + (scratch / "plain"),
                 {"plain text", "bart is trained on dialogues"});
    auto config = json::parse(read_text(weights + "config.json"));
    config["decoder_start_token_id"] = 1000;
    write_text(bart + "/config.json", config.dump());
    refused_line(train + " --init-model " + bart + " --data " + data, {"decoder_start_token_id"});
    config["decoder_start_token_id"] = 5;
    write_text(bart + "/config.json", config.dump());
    refused_line(train + " --init-model " + bart + " --data " + data,
                 {"another dictionary", "--like"});
}

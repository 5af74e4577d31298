// SPDX-License-Identifier: Apache-2.0
// A GPT-2 of transformers, prepared for, evaluated, trained on and talked to by the program:
// transformers' own figures and replies, which make_huggingface_golden.py wrote.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using nlohmann::json;

namespace {

const std::string golden = "tests/golden/huggingface/", folder = golden + "gpt2";

json expected() { return json::parse(read_text(golden + "expected.json")); }

std::string conversation(const std::string& context, const std::string& label) {
    return json{{"messages",
                 {{{"role", "user"}, {"content", context}},
                  {{"role", "assistant"}, {"content", label}}}}}
               .dump() +
           "\n";
}

ProgramResult run_well(const std::string& line) {
    CAPTURE(line);
    ProgramResult result = run_line(line);
    REQUIRE_MESSAGE(result.code == 0, result.out << result.err);
    return result;
}

void refused(const std::string& line, std::initializer_list<const char*> parts) {
    CAPTURE(line);
    const ProgramResult result = run_line(line);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const char* part : parts) CHECK(contains(result.err, part));
}

// Prepares the rows that transformers calculated.
std::string prepare_rows(const ScratchFolder& scratch, const std::string& like = folder) {
    std::string text;
    const json all = expected().at("rows");
    for (const json& row : all) text += conversation(row.at("context"), row.at("label"));
    write_text(scratch / "rows.jsonl", text);
    run_well("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") +
             " --valid " + (scratch / "rows.jsonl") + " --like " + like + " --out " +
             (scratch / "data"));
    return scratch / "data";
}

std::map<std::string, double> figures(const std::string& printed) {
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

const char* const of_init =
    " --model gpt2 --precision fp32 --init-model tests/golden/huggingface/gpt2 ";

}  // namespace

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

TEST_CASE("another token that fills up, and files of another form, are the same dictionary") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch), copy = scratch / "padded";
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
        write_text(copy + "/" + name, read_text(folder + "/" + name));
    json config = json::parse(read_text(folder + "/tokenizer_config.json"));
    config["pad_token"] = "<|endoftext|>";
    write_text(copy + "/tokenizer_config.json", config.dump());
    json tokenizer = json::parse(read_text(folder + "/tokenizer.json"));
    tokenizer["model"]["end_of_word_suffix"] = "";
    tokenizer["model"]["continuing_subword_prefix"] = "";
    write_text(copy + "/tokenizer.json", tokenizer.dump());
    const std::string prepare = "lockstep prepare --format messages --input " +
                                (scratch / "rows.jsonl") + " --valid " + (scratch / "rows.jsonl") +
                                " --like ";
    run_well(prepare + copy + " --out " + (scratch / "other"));
    CHECK(json::parse(read_text(scratch / "other/dataset.json")).at("dictionary_hash") !=
          json::parse(read_text(data + "/dataset.json")).at("dictionary_hash"));
    for (const std::string& one : {data, scratch / "other"}) {
        run_well("lockstep eval -mf " + copy + " --split valid --data " + one);
        run_well("lockstep train" + std::string(of_init) + "--max-train-steps 1 -bs 2 --data " +
                 one + " -mf " + one + ".model");
    }
    run_well("lockstep train" + std::string(of_init) + "--max-train-steps 1 -bs 2 --data " + data +
             " " + (scratch / "other") + " -mf " + (scratch / "both"));
    config["eos_token"] = "!";
    write_text(copy + "/tokenizer_config.json", config.dump());
    refused("lockstep eval -mf " + copy + " --split valid --data " + data,
            {"another dictionary", "--like"});
}

TEST_CASE("verify finds weights of transformers that are missing, lost, pickled or pointers") {
    const ScratchFolder scratch;
    const std::string copy = scratch / "copy", file = copy + "/model.safetensors";
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"})
        write_text(copy + "/" + name, read_text(folder + "/" + name));
    const auto verify = [&](int code, std::initializer_list<const char*> parts) {
        const ProgramResult result = run_line("lockstep checkpoint verify " + copy);
        CAPTURE(result.out);
        CHECK(result.code == code);
        for (const char* part : parts) CHECK(contains(result.out, part));
    };
    verify(1, {"BAD", "has no weights", "model.safetensors.index.json"});
    write_text(copy + "/pytorch_model.bin", "x");
    verify(1, {"pytorch_model.bin: is a pickle"});
    std::filesystem::create_symlink("../blobs/4d7a", file);
    verify(1, {"is a link to ../blobs/4d7a, which does not exist"});
    std::filesystem::remove(file);
    const std::string weights = read_text(folder + "/model.safetensors");
    const auto index = [&](const json& map) {
        write_text(file + ".index.json", json{{"weight_map", map}}.dump());
    };
    const std::string shard = "model-00001-of-00002.safetensors";
    index({{"wte.weight", shard}, {"wpe.weight", "model-00002-of-00002.safetensors"}});
    verify(1, {"model-00001-of-00002.safetensors: is missing",
               "model-00002-of-00002.safetensors: is missing"});
    write_text(copy + "/" + shard, weights);
    verify(1, {"good", "model-00002-of-00002.safetensors: is missing"});
    index({{"wte.weight", "../" + shard}});
    verify(1, {"is no file of this folder"});
    index({{"no.such.weight", shard}});
    verify(1, {"tensor no.such.weight is not in", shard.c_str()});
    write_text(file + ".index.json", "{}");
    verify(1, {"has no \"weight_map\""});
    write_text(file, weights);
    verify(0, {"good", "model.safetensors"});
    write_text(file, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 703\n");
    verify(1, {"model.safetensors: is only Git LFS's pointer", "git lfs pull"});
    refused("lockstep generate -mf " + copy + " --prompt a", {"model.safetensors", "git lfs pull"});
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

TEST_CASE("the tokenizer's files go byte for byte from folder to folder") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch), model = scratch / "model";
    run_well("lockstep train" + std::string(of_init) + "-mf " + model + " --data " + data +
             " -bs 4 --max-train-steps 1");
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
        CHECK(read_text(data + "/" + name) == read_text(folder + "/" + name));
        CHECK(read_text(model + "/" + name) == read_text(folder + "/" + name));
    }
    const auto of_data = json::parse(read_text(data + "/dataset.json"));
    const auto of_model = json::parse(read_text(model + "/lockstep_tokenizer.json"));
    CHECK(of_data.at("special_tokens") ==
          json::parse(R"({"null": null, "start": null, "begin": 319, "ends": [319], "unk": 319})"));
    CHECK(of_model.at("special_tokens") == of_data.at("special_tokens"));
    CHECK(of_model.at("hash") == of_data.at("dictionary_hash"));
    // The model's own folder serves as well as the one that it came from.
    run_well("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") + " --like " +
             model + " --out " + (scratch / "again"));
    CHECK(json::parse(read_text(scratch / "again/dataset.json")).at("dictionary_hash") ==
          of_data.at("dictionary_hash"));
}

TEST_CASE("vocab.json and merges.txt serve as tokenizer.json does, also once they were prepared") {
    const ScratchFolder scratch;
    const std::string copy = scratch / "plain";
    const auto model = json::parse(read_text(folder + "/tokenizer.json")).at("model");
    json pieces = model.at("vocab");
    pieces["<|endoftext|>"] = 319;
    std::string merges = "#version: 0.2\n";
    for (const json& merge : model.at("merges"))
        merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
    write_text(copy + "/vocab.json", pieces.dump());
    write_text(copy + "/merges.txt", merges);
    // DialoGPT has no more than this.
    write_text(copy + "/tokenizer_config.json", R"({"model_max_length": 1024})");
    for (const char* name : {"config.json", "model.safetensors"})
        write_text(copy + "/" + name, read_text(folder + "/" + name));
    const std::string first = prepare_rows(scratch, copy);
    run_well("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") +
             " --valid " + (scratch / "rows.jsonl") + " --like " + first + " --out " +
             (scratch / "again"));
    for (const std::string& data : {first, scratch / "again"}) {
        const auto evaluated = run_well("lockstep eval --precision fp32 -mf " + copy + " --data " +
                                        data + " --split valid");
        CHECK(figures(evaluated.out)["loss"] ==
              doctest::Approx(expected().at("loss").get<double>()).epsilon(1e-5));
    }
}

TEST_CASE("a description of the tokenizer that was edited is refused") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch), path = data + "/lockstep_tokenizer.json";
    const json written = json::parse(read_text(path));
    const auto with = [&](const json& ends) {
        json edited = written;
        edited["special_tokens"]["ends"] = ends;
        write_text(path, edited.dump());
        return "lockstep train -m gpt2 --max-train-steps 1 --data " + data + " -mf " +
               (scratch / "m");
    };
    refused(with({5}), {"changed since it was prepared"});
    refused(with({100000}), {"lockstep_tokenizer.json", "beyond the 320 tokens"});
    refused(with(json::array()), {"special_tokens/ends"});
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

TEST_CASE("what does not fit a GPT-2 of transformers is refused in one line") {
    const ScratchFolder scratch;
    const std::string data = prepare_rows(scratch);
    refused("lockstep train --max-train-steps 1 -m transformer/generator --data " + data + " -mf " +
                (scratch / "g"),
            {"-m gpt2"});
    refused("lockstep train -m gpt2 --max-train-steps 1 --data " + data + " -mf " + folder,
            {"--init-model"});
    const auto changed = [&](const char* member, const json& value) {
        const std::string copy = scratch / member;
        for (const char* name : {"model.safetensors", "tokenizer.json", "tokenizer_config.json"})
            write_text(copy + "/" + name, read_text(folder + "/" + name));
        auto config = json::parse(read_text(folder + "/config.json"));
        config[member] = value;
        write_text(copy + "/config.json", config.dump());
        return "lockstep train -m gpt2 --max-train-steps 1 --data " + data + " -mf " +
               (scratch / "m") + " --init-model " + copy;
    };
    refused(changed("model_type", "bert"), {"config.json", "bert", "gpt2"});
    refused(changed("activation_function", "relu"), {"config.json", "activation_function", "relu"});
    refused(changed("scale_attn_by_inverse_layer_idx", true), {"scale_attn_by_inverse_layer_idx"});
    refused(changed("tie_word_embeddings", false), {"tie_word_embeddings"});
    refused(changed("n_embd", -3), {"n_embd", "-3"});
    refused(changed("n_layer", 3), {"decoder.layers.2"});
    refused(changed("vocab_size", 310), {"310", "320"});
    // Weights in several files, and tensors under two names.
    const std::string shards = scratch / "shards";
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"})
        write_text(shards + "/" + name, read_text(folder + "/" + name));
    refused("lockstep train -m gpt2 --max-train-steps 1 --data " + data + " -mf " +
                (scratch / "m") + " --init-model " + shards,
            {"model.safetensors.index.json", "save_pretrained"});
    const std::string file =
        "{\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],"
        "\"data_offsets\":[0,4]},\"transformer.wte.weight\":"
        "{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[4,8]}}";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(file.size());
    write_text(shards + "/model.safetensors", bytes + file + std::string(8, '\0'));
    refused("lockstep train -m gpt2 --max-train-steps 1 --data " + data + " -mf " +
                (scratch / "m") + " --init-model " + shards,
            {"embeddings.weight twice"});
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
        refused("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") +
                    " --out " + (scratch / "d") + " --dict-file " + folder + "/" + name,
                {"is no dictionary", "--like"});
    write_text(scratch / "w.txt", "text:a\tlabels:b\tepisode_done:True\n");
    refused("lockstep prepare --input " + (scratch / "w.txt") + " --out " + (scratch / "d") +
                " --like " + folder + " --dict-file x",
            {"--dict-file", "--like"});
    refused("lockstep prepare --input " + (scratch / "w.txt") + " --out " + (scratch / "d") +
                " --like " + (scratch / "nothing"),
            {"--like", "no folder"});
}

namespace {

// A GPT-2 that reads conversations by a template; its end token ends each turn.
std::string with_template(const ScratchFolder& scratch) {
    const std::string copy = scratch / "chat";
    for (const char* name :
         {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"})
        write_text(copy + "/" + name, read_text(folder + "/" + name));
    write_text(copy + "/chat_template.jinja",
               "{% for m in messages %}{% if m.role not in ['system', 'user', 'assistant'] %}"
               "{{ raise_exception('No ' + m.role) }}{% endif %}{{ m.role[0] | upper }}: "
               "{{- m.content | trim }}{{ eos_token }}{% endfor %}"
               "{% if add_generation_prompt %}A:{% endif %}\n");
    return copy;
}

const std::string talk = R"({"messages": [{"role": "system", "content": "Be"},)"
                         R"({"role": "user", "content": "What say <|endoftext|>?"})";

}  // namespace

TEST_CASE("a chat template writes the rows, and travels with the data and the model") {
    const ScratchFolder scratch;
    const std::string like = with_template(scratch), rows = scratch / "rows.jsonl";
    write_text(rows, talk + R"(, {"role": "assistant", "content": " Speak. "}]})" + "\n");
    const auto prepared = run_well("lockstep prepare --format messages --input " + rows +
                                   " --like " + like + " --out " + (scratch / "data"));
    CHECK(contains(prepared.out, "the chat template of the tokenizer writes the conversations"));
    CHECK(contains(prepared.out, "% of the tokens have a label"));
    const auto shown = run_well("lockstep display_data " + (scratch / "data"));
    CHECK(contains(shown.out, "S:Be<|endoftext|>U:What say <|endoftext|>?<|endoftext|>A:"));
    // The token that ends the turn is shown, too.
    CHECK(contains(shown.out, "Speak.<|endoftext|>\n"));
    CHECK(read_text(scratch / "data/chat_template.jinja") ==
          read_text(like + "/chat_template.jinja"));
    run_well("lockstep train --model gpt2 --precision fp32 --init-model " + like + " -mf " +
             (scratch / "model") + " --data " + (scratch / "data") + " -bs 1 --max-train-steps 1");
    CHECK(read_text(scratch / "model/chat_template.jinja") ==
          read_text(like + "/chat_template.jinja"));
    write_text(rows, talk + "]}\n" + R"({"messages": [{"role": "tool", "content": "x"},)" +
                         R"({"role": "assistant", "content": "y"}]})" + "\n");
    refused("lockstep prepare --format messages --input " + rows + " --like " + like + " --out " +
                (scratch / "none"),
            {"rows.jsonl:2: message 2: ", (like + "/chat_template.jinja:1: No tool").c_str()});
    write_text(rows, R"({"messages": [{"role": "user", "contnet": "x"}]})"
                     "\n");
    refused("lockstep generate -mf " + (scratch / "model") + " --input " + rows,
            {"rows.jsonl:1: ", "\"messages\" has one without a \"content\""});
}

namespace {

// Conversations of one to three turns, whose answers are of very unequal lengths.
std::string unequal_talks() {
    std::string lines;
    for (int i = 0; i < 13; ++i) {
        json messages = json::array();
        for (int turn = 0; turn <= i % 3; ++turn) {
            std::string answer = "I";
            for (int word = 0; word < (i * 7 + turn * 5) % 6; ++word) answer += " a";
            messages.push_back({{"role", "user"}, {"content", "so"}});
            messages.push_back({{"role", "assistant"}, {"content", i % 5 == 0 ? "" : answer}});
        }
        lines += json{{"messages", messages}}.dump() + "\n";
    }
    return lines;
}

}  // namespace

TEST_CASE("a conversation as one row has the labels, losses and gradients of its turns") {
    const ScratchFolder scratch;
    const std::string like = with_template(scratch), text = scratch / "rows.jsonl";
    write_text(text, unequal_talks());
    const auto prepared = [&](const std::string& rows) {
        const std::string out = scratch / rows;
        run_well("lockstep prepare --format messages --row-of " + rows + " --input " + text +
                 " --valid " + text + " --like " + like + " --out " + out);
        CHECK(contains(run_well("lockstep inspect --verify " + out).out, "intact"));
        return out;
    };
    const std::string whole = prepared("conversation"), turns = prepared("turn");
    const auto info = [](const std::string& data) {
        return json::parse(read_text(data + "/dataset.json"));
    };
    const json of_whole = info(whole).at("splits")[0], of_turns = info(turns).at("splits")[0];
    CHECK(of_whole.at("rows") == 13);
    CHECK(of_turns.at("rows") == 25);
    CHECK(of_whole.at("label_tokens") == of_turns.at("target_tokens"));
    CHECK(info(whole).at("format_version") == 2);
    CHECK(info(turns).at("format_version") == 1);
    CHECK(info(whole).at("splits")[1].at("rows") == 25);
    const auto last_loss = [&](const std::string& data, int ranks, const std::string& more) {
        const std::string model = data + std::to_string(ranks);
        run_well("lockstep multiprocessing_train --distributed-world-size " +
                 std::to_string(ranks) + " --model gpt2 --precision fp32 --init-model " + like +
                 " -mf " + model + " --data " + data +
                 " --optimizer sgd -lr 0.5 --momentum 0 --lr-scheduler none --warmup-updates -1 "
                 "--threads 1 -bs 40 --log-every-n-steps 1 --max-train-steps 2 " +
                 more);
        std::istringstream lines(read_text(model + "/metrics.jsonl"));
        double loss = 0;
        for (std::string line; std::getline(lines, line);)
            if (const json entry = json::parse(line); entry.at("kind") == "train") {
                CHECK(entry.at("truncated_rows") == 0);
                CHECK(entry.at("tokens") == of_whole.at("label_tokens"));
                loss = entry.at("loss").get<double>();
            }
        return loss;
    };
    // Of the second step over all rows, after one by the gradients of all rows.
    const double loss = last_loss(turns, 1, "");
    CHECK(loss > 0);
    CHECK(last_loss(whole, 1, "") == doctest::Approx(loss).epsilon(1e-6));
    CHECK(last_loss(whole, 2, "") == doctest::Approx(loss).epsilon(1e-6));
    CHECK(last_loss(whole, 3, "--zero 2") == doctest::Approx(loss).epsilon(1e-6));
}

TEST_CASE("what half of a folder of transformers says is refused, and nothing is written there") {
    const ScratchFolder scratch;
    const std::string like = with_template(scratch), rows = scratch / "rows.jsonl";
    const std::string prepare = "lockstep prepare --format messages --input " + rows + " --like " +
                                like + " --out " + (scratch / "none");
    write_text(rows, talk + R"(, {"role": "assistant", "content": "a", "weight": "0"}]})" + "\n");
    refused(prepare, {"rows.jsonl:1: a message has a 'weight' of", "0 (no label) or 1"});
    refused("lockstep train --init-model " + like + " -mf " + like + "/sub --max-train-steps 1" +
                " --data " + (scratch / "none"),
            {"into which no run writes"});
    std::filesystem::remove(like + "/chat_template.jinja");
    std::filesystem::create_symlink("../nowhere", like + "/chat_template.jinja");
    refused(prepare, {"chat_template.jinja: is a link to nowhere"});
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

TEST_CASE("generate and interactive talk through the chat template") {
    const ScratchFolder scratch;
    const std::string model = with_template(scratch);
    write_text(scratch / "talks.jsonl", talk + "]}\n");
    const auto options = " --inference greedy --max-length 9";
    const auto said = run_well("lockstep generate -mf " + model + " --json --input " +
                               (scratch / "talks.jsonl") + options);
    const json reply = json::parse(said.out);
    CHECK(reply.at("prompt").size() == 2);
    CHECK(reply.at("prompt")[0].at("content") == "Be");
    const std::string past = "1 prompt was read without the model's chat template";
    CHECK(!contains(said.err, past));
    const auto plain = run_well("lockstep generate -mf " + model + " --prompt What" + options);
    CHECK(contains(plain.err, past));
    const auto heard =
        run_line("lockstep interactive -mf " + model + " --system Be" + options,
                 {.standard_input = "What say <|endoftext|>?\n", .environment = {}, .folder = {}});
    REQUIRE_MESSAGE(heard.code == 0, heard.err);
    CHECK(contains(heard.out, "model: " + reply.at("reply").get<std::string>()));
    write_text(scratch / "bad.jsonl", R"({"messages": [{"role": "tool", "content": "x"}]})");
    const auto bad =
        run_line("lockstep generate -mf " + model + " --input " + (scratch / "bad.jsonl"));
    CHECK(bad.code != 0);
    CHECK(contains(bad.err, "bad.jsonl:1: " + model + "/chat_template.jinja:1: No tool"));
    refused("lockstep interactive -mf " + folder + " --system Be",
            {"--system", "has no chat template"});
    const auto none =
        run_line("lockstep generate -mf " + folder + " --input " + (scratch / "talks.jsonl"));
    CHECK(none.code != 0);
    CHECK(contains(none.err, "talks.jsonl:1: \"messages\", but the model has no chat template"));
}

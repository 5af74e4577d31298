// SPDX-License-Identifier: Apache-2.0
// The files of a folder of transformers: what serves as one, what goes on from folder to folder,
// and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/launcher/programs/huggingface_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using namespace lockstep::tests::huggingface;
using nlohmann::json;

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

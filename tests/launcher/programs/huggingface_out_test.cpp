// SPDX-License-Identifier: Apache-2.0
// What a run that began from a folder of transformers writes is one, too; and what `lockstep
// checkpoint` makes of both.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string tokenizer_of = "tests/golden/huggingface/gpt2/";

ProgramResult done(const std::string& line) {
    CAPTURE(line);
    ProgramResult result = run_line(line);
    REQUIRE_MESSAGE(result.code == 0, result.out << result.err);
    return result;
}

void refuses_line(const std::string& line, std::initializer_list<const char*> parts) {
    CAPTURE(line);
    const ProgramResult result = run_line(line);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const char* part : parts) CHECK(contains(result.err, part));
}

// Names, types, shapes and bytes of the tensors of a file; those of GPT-2 without masks, and with
// the names that transformers writes.
std::map<std::string, std::string> tensors_in(const std::string& path) {
    const std::string all = read_text(path);
    std::uint64_t length = 0;
    REQUIRE(all.size() > sizeof length);
    std::memcpy(&length, all.data(), sizeof length);
    std::map<std::string, std::string> found;
    const json header = json::parse(all.substr(sizeof length, length));
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__" || name.ends_with(".attn.bias")) continue;
        const auto begin = entry.at("data_offsets")[0].get<std::size_t>(),
                   end = entry.at("data_offsets")[1].get<std::size_t>();
        const bool bare = name.starts_with("h.") || name.starts_with("w") || name.starts_with("ln");
        found[(bare ? "transformer." : "") + name] =
            entry.at("dtype").get<std::string>() + entry.at("shape").dump() +
            all.substr(sizeof length + length + begin, end - begin);
    }
    return found;
}

// The tensors of model.safetensors or of the files of its index.
std::map<std::string, std::string> tensor_bytes_of(const std::string& folder) {
    const std::string file = folder + "/model.safetensors";
    if (fs::exists(file)) return tensors_in(file);
    std::map<std::string, std::string> all;
    const json index = json::parse(read_text(file + ".index.json"));
    for (const auto& [name, shard] : index.at("weight_map").items()) {
        auto some = tensors_in(folder + "/" + shard.get<std::string>());
        REQUIRE(some.contains(name));
        all.merge(some);
    }
    CHECK(all.size() == index.at("weight_map").size());
    return all;
}

const std::vector<std::string> tokenizer_files{"tokenizer.json", "tokenizer_config.json"};

// A folder of this family with the small tokenizer, and rows for it.
struct Foreign {
    explicit Foreign(const std::string& golden) {
        for (const auto& entry : fs::directory_iterator(golden))
            if (entry.path().filename() != "expected.json")
                fs::copy(entry.path(), made / entry.path().filename());
        for (const std::string& name : tokenizer_files)
            if (!fs::exists(made / name)) fs::copy(tokenizer_of + name, made / name);
        write_text(scratch / "rows.jsonl",
                   json{{"messages",
                         {{{"role", "user"}, {"content", "Speak"}},
                          {{"role", "assistant"}, {"content", " no more"}}}}}
                           .dump() +
                       "\n");
        done("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") +
             " --valid " + (scratch / "rows.jsonl") + " --like " + folder + " --out " + data);
    }
    std::string trained(const std::string& name, const std::string& more, int ranks = 1) const {
        std::string model = scratch / name;
        done("lockstep multiprocessing_train --distributed-world-size " + std::to_string(ranks) +
             " --init-model " + folder + " --data " + data +
             " --precision fp32 --threads 1 -bs 1 --optimizer sgd --lr-scheduler none "
             "--warmup-updates -1 --max-train-steps 1 " +
             more + " -mf " + model);
        return model;
    }
    ScratchFolder scratch;
    std::string folder = scratch / "from", data = scratch / "data";
    fs::path made = folder;
    bool is_made = fs::create_directories(made);
};

const std::string of_gpt2 = "tests/golden/huggingface/gpt2",
                  of_llama = "tests/golden/families/llama_groups_of_3",
                  bart_folder = "tests/golden/families/bart";

json without_type(json config) {
    config.erase("dtype");
    config.erase("torch_dtype");
    return config;
}

}  // namespace

TEST_CASE("a folder of transformers comes out of a run of rate 0 as it went in") {
    for (const std::string& golden : {of_gpt2, of_llama, bart_folder}) {
        CAPTURE(golden);
        const Foreign from(golden);
        const std::string model = from.trained("model", "-lr 0");
        CHECK(tensor_bytes_of(model) == tensor_bytes_of(from.folder));
        CHECK(without_type(json::parse(read_text(model + "/config.json"))) ==
              without_type(json::parse(read_text(from.folder + "/config.json"))));
        for (const std::string& name : tokenizer_files)
            CHECK(read_text(model + "/" + name) == read_text(from.folder + "/" + name));
        // Checkpoints have Lockstep's names, and the same values.
        const auto same =
            done("lockstep checkpoint diff " + model + "/checkpoints/step-00000001 " + from.folder);
        CHECK(contains(same.out, "tensors bit for bit"));
        done("lockstep checkpoint verify " + model);
        CHECK(json::parse(read_text(model + "/lockstep.json")).contains("defaults"));
    }
}

TEST_CASE("a run goes on in its folder, and others begin from it and read it") {
    const Foreign from(of_llama);
    const std::string model = from.trained("model", "-lr 0.1 --dropout 0.25");
    const auto first = tensor_bytes_of(model);
    CHECK(first != tensor_bytes_of(from.folder));
    const std::string line = " --data " + from.data + " -mf " + model;
    // It needs the folder no more.
    fs::rename(from.folder, from.scratch / "gone");
    done("lockstep train -bs 1 --max-train-steps 2" + line);
    const auto second = tensor_bytes_of(model);
    CHECK(second != first);
    CHECK(json::parse(read_text(model + "/lockstep.json")).at("dropout") == 0.25);
    done("lockstep eval --split valid" + line);
    done("lockstep report -mf " + model + " --out " + (from.scratch / "report.html"));
    done("lockstep train -bs 1 -lr 0 --optimizer sgd --max-train-steps 1 --init-model " + model +
         " --data " + from.data + " -mf " + (from.scratch / "third"));
    CHECK(tensor_bytes_of(from.scratch / "third") == second);
    CHECK(fs::exists(from.scratch / "third/lockstep.json"));
}

TEST_CASE("ranks that share write the model of transformers that one rank writes") {
    for (const std::string& golden : {of_gpt2, of_llama, bart_folder}) {
        CAPTURE(golden);
        const Foreign from(golden);
        const std::string weights = "/model.safetensors",
                          whole = read_text(from.trained("whole", "--zero 0", 2) + weights);
        for (const char* stage : {"1", "3"})
            CHECK(read_text(from.trained(std::string("shared") + stage,
                                         std::string("--zero ") + stage, 2) +
                            weights) == whole);
    }
}

TEST_CASE("a folder in the form of before is read, and a run that goes on there gives it the new") {
    const Foreign from(of_gpt2);
    const std::string model = from.trained("model", "-lr 0");
    const auto wanted = tensor_bytes_of(model);
    done("lockstep checkpoint convert " + model + "/checkpoints/step-00000001 " +
         (from.scratch / "own.safetensors"));
    fs::rename(from.scratch / "own.safetensors", model + "/model.safetensors");
    fs::rename(model + "/lockstep.json", model + "/config.json");
    CHECK(tensor_bytes_of(model).contains("embeddings.weight"));
    const std::string line = " --data " + from.data + " -mf " + model;
    done("lockstep eval --split valid" + line);
    done("lockstep train -bs 1 --max-train-steps 2" + line);
    CHECK(tensor_bytes_of(model) == wanted);
    const json config = json::parse(read_text(model + "/config.json"));
    CHECK(config.at("architectures") == json{"GPT2LMHeadModel"});
    CHECK(config.at("eos_token_id") == 319);
    done("lockstep checkpoint verify " + model);
}

TEST_CASE("a model becomes a folder of transformers in another type and in shards") {
    const Foreign from(of_llama);
    const std::string model = from.trained("model", "-lr 0.01"),
                      convert = "lockstep checkpoint convert ";
    const std::string half = from.scratch / "half", back = from.scratch / "back";
    const auto told =
        done(convert + model + " " + half + " --to transformers --dtype bf16 --shard-size 40KB");
    CHECK(contains(told.out, "BF16, "));
    CHECK(contains(told.out, "values were rounded"));
    CHECK(!fs::exists(half + "/lockstep.json"));
    CHECK(!fs::exists(half + "/lockstep_tokenizer.json"));
    CHECK(!fs::exists(half + "/model.safetensors"));
    const json index = json::parse(read_text(half + "/model.safetensors.index.json"));
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(half))
        if (entry.path().extension() == ".safetensors") {
            ++files;
            CHECK(entry.file_size() < 44'000);
        }
    CHECK(files > 1);
    const json config = json::parse(read_text(half + "/config.json"));
    CHECK((config.contains("dtype") ? config.at("dtype") : config.at("torch_dtype")) == "bfloat16");
    for (const auto& [name, tensor] : tensor_bytes_of(half)) CHECK(tensor.starts_with("BF16"));
    CHECK(contains(done("lockstep checkpoint list " + half).out, "model.safetensors.index.json"));
    done("lockstep checkpoint verify " + half);
    done("lockstep eval --split valid --data " + from.data + " -mf " + half);
    // Names are those of transformers, and 2^-8 is the most that rounding changes.
    const ProgramResult differs = run_line("lockstep checkpoint diff " + model + " " + half);
    CHECK(differs.code == 1);
    CHECK(contains(differs.out, "model.layers.0.self_attn.k_proj.weight"));
    CHECK(!contains(differs.out, "qkv"));
    done("lockstep checkpoint diff " + model + " " + half + " --tolerance 0.004");
    done(convert + half + " " + back + " --dtype fp32");
    done("lockstep checkpoint diff " + half + " " + back);
    // Without a type the weights keep theirs.
    done(convert + half + " " + (from.scratch / "same") + " --to transformers");
    CHECK(tensor_bytes_of(from.scratch / "same") == tensor_bytes_of(half));
    CHECK(json::parse(read_text(from.scratch / "same/config.json")) == config);
}

TEST_CASE("folders of transformers are compared, and become models and files of Lockstep") {
    const Foreign from(of_llama);
    const std::string convert = "lockstep checkpoint convert " + from.folder + " ",
                      file = from.scratch / "own.safetensors", model = from.scratch / "model";
    done("lockstep checkpoint diff " + from.folder + " " + from.folder);
    done(convert + file);
    CHECK(tensors_in(file).contains("embeddings.weight"));
    CHECK(contains(done("lockstep checkpoint diff " + from.folder + " " + file).out, "equal: "));
    done(convert + model);
    CHECK(tensor_bytes_of(model) == tensor_bytes_of(from.folder));
    CHECK(fs::exists(model + "/lockstep.json"));
    done("lockstep train -bs 1 --max-train-steps 1 --data " + from.data + " -mf " + model);
}

TEST_CASE("encoder-decoders that began from nothing are folders of transformers, too") {
    const Foreign from(bart_folder);
    const std::string name = "model.decoder.layer", ending = ".weight";
    for (const auto& [family, norm] : {std::pair{"bart", "norm_embedding"},
                                       {"blenderbot", "_norm"},
                                       {"blenderbot-small", "norm_embedding"}}) {
        CAPTURE(family);
        const std::string model = from.scratch / family, half = model + "-half";
        done(
            "lockstep train -bs 1 --max-train-steps 1 --optimizer sgd --n-layers 1 --n-heads 2 "
            "--embedding-size 16 --ffn-size 20 --n-positions 40 --model " +
            std::string(family) + " --data " + from.data + " -mf " + model);
        const json config = json::parse(read_text(model + "/config.json"));
        CHECK(config.at("model_type") == family);
        CHECK(config.at("decoder_start_token_id") == 319);
        CHECK(config.at("pad_token_id") == 319);
        CHECK(json::parse(read_text(model + "/lockstep.json")).at("model") == family);
        const auto tensors = tensor_bytes_of(model);
        CHECK(tensors.contains(name + norm + ending));
        CHECK(tensors.contains("final_logits_bias"));
        done("lockstep eval --split valid --data " + from.data + " -mf " + model);
        done("lockstep checkpoint convert " + model + " " + half +
             " --to transformers --dtype bf16 --shard-size 4KB");
        done("lockstep checkpoint diff --tolerance 0.01 " + model + " " + half);
        done("lockstep eval --split valid --data " + from.data + " -mf " + half);
        const std::string next = model + "-next";
        done("lockstep train -bs 1 -lr 0 --max-train-steps 1 --optimizer sgd --init-model " +
             model + " --data " + from.data + " -mf " + next);
        CHECK(tensor_bytes_of(next) == tensors);
        CHECK(json::parse(read_text(next + "/config.json")) == config);
    }
}

TEST_CASE("what cannot become a model of transformers is refused, and nothing is written") {
    const Foreign from(of_llama);
    const std::string convert = "lockstep checkpoint convert " + from.folder + " ",
                      out = from.scratch / "out";
    refuses_line(convert + out + " --to flax", {"--to", "lockstep|transformers"});
    refuses_line(convert + out + " --dtype int8", {"--dtype", "fp32, bf16 or fp16"});
    refuses_line(convert + out + " --shard-size 12", {"--shard-size", "80GB"});
    refuses_line(convert + out + ".safetensors --dtype bf16", {"is a folder; choose another name"});
    refuses_line(convert + from.scratch.path() + " --to transformers", {"exists"});
    refuses_line("lockstep checkpoint list " + from.folder + " --dtype bf16",
                 {"is no option of list"});
    CHECK(!fs::exists(out));
}

TEST_CASE("a config.json that does not fit its tensors is refused by the key") {
    const auto with = [](const Foreign& from, const char* key, const json& value) {
        json config = json::parse(read_text(from.folder + "/config.json"));
        config[key] = value;
        fs::permissions(from.folder + "/config.json", fs::perms::owner_all);
        write_text(from.folder + "/config.json", config.dump());
        return "lockstep eval --split valid --data " + from.data + " -mf " + from.folder;
    };
    const Foreign llama(of_llama), gpt2(of_gpt2);
    const std::string before = read_text(llama.folder + "/config.json");
    const json config = json::parse(before);
    const auto refuses_key = [&](const char* key, const json& value, const char* told) {
        refuses_line(with(llama, key, value), {told});
        write_text(llama.folder + "/config.json", before);
    };
    refuses_key("num_hidden_layers", config.at("num_hidden_layers").get<int>() + 1,
                "(config.json: num_hidden_layers)");
    refuses_key("tie_word_embeddings", !config.value("tie_word_embeddings", false),
                "tie_word_embeddings");
    refuses_key("head_dim", 4, "num_key_value_heads, head_dim)");
    refuses_key("intermediate_size", 8, "intermediate_size)");
    refuses_line(with(gpt2, "n_layer", 3), {"(config.json: n_layer)"});
    const Foreign bart(bart_folder);
    refuses_line(with(bart, "encoder_layers", 3), {"(config.json: encoder_layers)"});
    refuses_line(with(bart, "d_model", 32), {"(config.json: d_model"});
    std::string twice = before;
    twice.insert(twice.find('{') + 1, "\"vocab_size\": 5,");
    write_text(llama.folder + "/config.json", twice);
    refuses_line("lockstep eval --split valid --data " + llama.data + " -mf " + llama.folder,
                 {"config.json: has \"vocab_size\" twice"});
}

TEST_CASE("constants of a folder's files are named when a run begins from it") {
    const Foreign from(of_gpt2);
    const auto told = done("lockstep train --init-model " + from.folder + " --data " + from.data +
                           " -bs 1 --max-train-steps 1 -mf " + (from.scratch / "model"));
    CHECK(contains(told.out + told.err,
                   "constants in its files are left out: h.0.attn.bias, h.1.attn.bias\n"));
}

// SPDX-License-Identifier: Apache-2.0
// Adapters (LoRA) as programs train, keep, use and merge them, on tiny models of transformers:
// PEFT's own figures, which make_adapter_goldens.py wrote.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/train/checkpoint/safetensors_header.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using nlohmann::json;

namespace {

const std::string adapters = "tests/golden/adapters/", gpt2 = "tests/golden/huggingface/gpt2";

ProgramResult ran(const std::string& line) {
    CAPTURE(line);
    ProgramResult result = run_line(line);
    REQUIRE_MESSAGE(result.code == 0, result.out << result.err);
    return result;
}

void refuses(const std::string& line, std::initializer_list<const char*> parts) {
    CAPTURE(line);
    const ProgramResult result = run_line(line);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const char* part : parts) CHECK(contains(result.err, part));
}

void copy_files(const std::string& from, const std::string& to) {
    for (const auto& entry : std::filesystem::directory_iterator(from))
        write_text(to + "/" + entry.path().filename().string(), read_text(entry.path()));
}

std::string prepare(const ScratchFolder& scratch, const std::string& like = gpt2) {
    std::string text;
    const json expected = json::parse(read_text("tests/golden/huggingface/expected.json"));
    for (const json& row : expected.at("rows"))
        text += json{{"messages",
                      {{{"role", "user"}, {"content", row.at("context")}},
                       {{"role", "assistant"}, {"content", row.at("label")}}}}}
                    .dump() +
                "\n";
    write_text(scratch / "rows.jsonl", text);
    const std::string data = scratch / (like == gpt2 ? "data" : "data_of_other");
    ran("lockstep prepare --format messages --input " + (scratch / "rows.jsonl") + " --valid " +
        (scratch / "rows.jsonl") + " --like " + like + " --out " + data + " --overwrite");
    return data;
}

// Returns a folder of a LLaMA with the tokenizer of the GPT-2.
std::string llama_in(const ScratchFolder& scratch) {
    const std::string made = scratch / "llama";
    for (const char* name : {"config.json", "model.safetensors"})
        write_text(made + "/" + name,
                   read_text("tests/golden/families/llama_groups_of_3/" + std::string(name)));
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
        write_text(made + "/" + name, read_text(gpt2 + "/" + name));
    write_text(made + "/generation_config.json", R"({"bos_token_id": 319, "eos_token_id": 319})");
    return made;
}

// Returns a folder with the adapters whose base is at `base`.
std::string adapter_in(const ScratchFolder& scratch, const std::string& name,
                       const std::string& base) {
    const std::string made = scratch / ("adapter_" + name);
    copy_files(adapters + name, made);
    auto config = json::parse(read_text(made + "/adapter_config.json"));
    config["base_model_name_or_path"] = std::filesystem::absolute(base).string();
    write_text(made + "/adapter_config.json", config.dump());
    return made;
}

std::map<std::string, std::vector<float>> tensors_of(const std::string& path) {
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

void check_alike(const std::map<std::string, std::vector<float>>& own,
                 const std::map<std::string, std::vector<float>>& wanted, double tolerance) {
    CHECK(own.size() == wanted.size());
    for (const auto& [name, values] : wanted) {
        CAPTURE(name);
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

double loss_of(const std::string& model, const std::string& data) {
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

std::string reply_of(const std::string& model, const ScratchFolder& scratch) {
    write_text(scratch / "prompt", "Speak, speak.\n");
    return json::parse(ran("lockstep generate -mf " + model + " --precision fp32 --input " +
                           (scratch / "prompt") + " --inference greedy --json")
                           .out)
        .at("reply");
}

const char* const steps =
    " --precision fp32 --threads 1 -lr 0.01 --lr-scheduler none --warmup-updates -1 ";

}  // namespace

TEST_CASE("a step from adapters of PEFT is PEFT's, and so is the loss") {
    const ScratchFolder scratch;
    const std::string llama = llama_in(scratch);
    for (const std::string name :
         {"gpt2", "gpt2_attention", "gpt2_head", "gpt2_table", "gpt2_tables", "gpt2_tied", "llama",
          "llama_patterns", "llama_tables"}) {
        CAPTURE(name);
        const std::string base = name.starts_with("llama") ? llama : gpt2,
                          model = scratch / ("m_" + name);
        const std::string data = prepare(scratch, base);
        const std::string adapter = adapter_in(scratch, name, base);
        const json expected = json::parse(read_text(adapters + name + "/expected.json"));
        const double loss = expected.at("loss").get<double>();
        CHECK(read_text(prepare(scratch, adapter) + "/tokenizer.json") ==
              read_text(base + "/tokenizer.json"));
        CHECK(loss_of(adapter, data) == doctest::Approx(loss).epsilon(1e-5));
        ran("lockstep train --init-model " + base + " --lora " + adapter + " -mf " + model +
            " --data " + data + steps +
            "--optimizer adamw --betas 0.9,0.999 --weight-decay 0.1 --adam-eps " +
            expected.value("adam_eps", "1e-8") + " --gradient-clip 0 -bs 4 --max-train-steps 1");
        const auto after = tensors_of(model + "/adapter_model.safetensors");
        check_alike(after, tensors_of(adapters + name + "/after_step.safetensors"), 1e-5);
        auto config = json::parse(read_text(model + "/adapter_config.json"));
        const json given = json::parse(read_text(adapters + name + "/adapter_config.json"));
        for (const char* key :
             {"r", "lora_alpha", "use_rslora", "fan_in_fan_out", "rank_pattern", "alpha_pattern"})
            CHECK(config.at(key) == given.at(key));
        CHECK(config.at("modules_to_save").is_null() == given.at("modules_to_save").is_null());
        CHECK(config.value("ensure_weight_tying", false) ==
              given.value("ensure_weight_tying", false));
        CHECK(config.at("base_model_name_or_path") == std::filesystem::canonical(base).string());
        // What was written is read as what is kept.
        const std::string own = scratch / ("own_" + name);
        for (const char* file : {"adapter_config.json", "adapter_model.safetensors"})
            write_text(own + "/" + file, read_text(model + "/" + file));
        CHECK(loss_of(own, data) == loss_of(model, data));
        CHECK(reply_of(own, scratch) == reply_of(model, scratch));
    }
}

TEST_CASE("ranks that share adapters write the same bits, and a run goes on bit for bit") {
    const ScratchFolder scratch;
    const std::string llama = llama_in(scratch), data = prepare(scratch, llama);
    const auto trained = [&](const std::string& name, int ranks, const std::string& more) {
        ran("lockstep multiprocessing_train --distributed-world-size " + std::to_string(ranks) +
            " --init-model " + llama + " --lora-r 2 --lora-dropout 0.25 -mf " + (scratch / name) +
            " --data " + data + steps + "-bs 1 " + more);
        return read_text(scratch / (name + "/model.safetensors"));
    };
    const std::string two = " --max-train-steps 2 ", four = " --max-train-steps 4 ";
    const std::string one = trained("one", 1, four + "--deterministic --logical-shards 3");
    CHECK(trained("again", 1, two + "--deterministic --logical-shards 3") != one);
    CHECK(trained("again", 1, four + "--deterministic --logical-shards 3") == one);
    for (const int ranks : {2, 3}) {
        const std::string id = std::to_string(ranks);
        CHECK(trained("d" + id, ranks, four + "--deterministic --logical-shards 3 --zero 1") ==
              one);
        const std::string whole = trained("w" + id, ranks, four + "--zero 0");
        for (const char* const stage : {"1", "2", "3"}) {
            const std::string name = "s" + id + stage;
            (void)trained(name, ranks, two + "--zero " + stage);
            CHECK(trained(name, ranks, four + "--zero " + stage) == whole);
        }
    }
    const auto config = json::parse(read_text(scratch / "one/config.json"));
    CHECK(config.at("lora").at("r") == 2);
    CHECK(config.at("lora").at("dropout") == 0.25);
    CHECK(json::parse(read_text(scratch / "one/adapter_config.json")).at("lora_dropout") == 0.25);
    CHECK(config.at("lora").at("alpha") == 4);
    CHECK(config.at("lora").at("modules").size() == 7);
    const auto base = std::filesystem::file_size(llama + "/model.safetensors");
    CHECK(std::filesystem::file_size(scratch / "one/model.safetensors") < base / 4);
}

TEST_CASE("merged adapters are a model of transformers with the same replies") {
    const ScratchFolder scratch;
    const std::string llama = llama_in(scratch);
    for (const std::string name :
         {"gpt2", "gpt2_tied", "llama", "llama_patterns", "llama_tables"}) {
        CAPTURE(name);
        const std::string base = name.starts_with("llama") ? llama : gpt2,
                          merged = scratch / (name + "_m");
        const std::string data = prepare(scratch, base);
        const std::string adapter = adapter_in(scratch, name, base);
        ran("lockstep checkpoint convert " + adapter + " " + merged + " --merge");
        CHECK(loss_of(merged, data) == doctest::Approx(loss_of(adapter, data)).epsilon(1e-5));
        CHECK(reply_of(merged, scratch) == reply_of(adapter, scratch));
        for (const char* file : {"config.json", "tokenizer.json"})
            CHECK(read_text(merged + "/" + file) == read_text(base + "/" + file));
        CHECK(std::filesystem::file_size(merged + "/model.safetensors") ==
              std::filesystem::file_size(base + "/model.safetensors"));
        refuses("lockstep checkpoint convert " + adapter + " " + merged + " --merge",
                {"--overwrite"});
        refuses("lockstep checkpoint convert " + adapter + " " + (scratch / "x"), {"--merge"});
    }
    refuses("lockstep checkpoint convert " + gpt2 + " " + (scratch / "x") + " --merge",
            {"has no adapters"});
    CHECK(!std::filesystem::exists(scratch / "x"));
}

TEST_CASE("tables that are trained whole begin as the base's, and ranks give the same bits") {
    const ScratchFolder scratch;
    const std::string llama = llama_in(scratch);
    const auto trained = [&](const std::string& name, const std::string& rate,
                             const std::string& more) {
        ran("lockstep multiprocessing_train --distributed-world-size 3 --lora-r 2 -mf " +
            (scratch / name) + " --precision fp32 --threads 1 --lr-scheduler none " +
            "--warmup-updates -1 -bs 1 -lr " + rate + more);
        return read_text(scratch / (name + "/model.safetensors"));
    };
    const std::string two = " --max-train-steps 2", four = " --max-train-steps 4";
    const std::string tied = " --lora-modules-to-save wte --lora-ensure-weight-tying",
                      apart = " --lora-modules-to-save wte",
                      both = " --lora-modules-to-save embed_tokens,lm_head";
    int number = 0;
    for (const auto& [base, tables] :
         {std::pair{gpt2, tied}, std::pair{gpt2, apart}, std::pair{llama, both}}) {
        CAPTURE(tables);
        const std::string id = std::to_string(number++), data = prepare(scratch, base);
        const std::string more = " --init-model " + base + " --data " + data + tables;
        (void)trained("z" + id, "1e-30", more + two + " --zero 3");
        CHECK(loss_of(scratch / ("z" + id), data) ==
              doctest::Approx(loss_of(base, data)).epsilon(1e-6));
        const std::string whole = trained("w" + id, "0.01", more + four + " --zero 0");
        CHECK(loss_of(scratch / ("w" + id), data) < loss_of(base, data) - 0.01);
        for (const char* const stage : {"1", "2", "3"}) {
            const std::string name = "s" + id + stage, zero = " --zero " + std::string(stage);
            (void)trained(name, "0.01", more + two + zero);
            CHECK(trained(name, "0.01", more + four + zero) == whole);
        }
    }
}

TEST_CASE("a base whose table is its head has two when one of them was trained") {
    const ScratchFolder scratch;
    const std::string llama = llama_in(scratch), base = scratch / "tied";
    copy_files(llama, base);
    auto config = json::parse(read_text(base + "/config.json"));
    config["tie_word_embeddings"] = true;
    write_text(base + "/config.json", config.dump());
    const auto tensors = tensors_of(llama + "/model.safetensors");
    std::vector<train::TensorToWrite> kept;
    const train::OpenedSafetensors opened = train::open_safetensors(llama + "/model.safetensors");
    for (const train::TensorInfo& tensor : opened.tensors)
        if (tensor.name != "lm_head.weight")
            kept.emplace_back(tensor.name, tensor.shape,
                              HostView<const float>(tensors.at(tensor.name).data(), tensor.count));
    train::write_safetensors(base + "/model.safetensors", kept, {{"format", "pt"}});
    const std::string parts = scratch / "parts", data = prepare(scratch, base);
    ran("lockstep checkpoint convert " + base + " " + parts +
        " --to transformers --shard-size 60KB");
    REQUIRE(std::filesystem::exists(parts + "/model.safetensors.index.json"));
    const auto& table = tensors.at("model.embed_tokens.weight");
    int number = 0;
    for (const auto& [from, tables] :
         {std::pair{base, "embed_tokens"}, std::pair{parts, "lm_head"},
          std::pair{base, "embed_tokens --lora-ensure-weight-tying"}}) {
        CAPTURE(tables);
        const std::string id = std::to_string(number++), run = scratch / ("run" + id),
                          merged = scratch / ("merged" + id);
        const auto trained =
            ran("lockstep train --init-model " + from + " --lora-r 2 --lora-modules-to-save " +
                tables + " -mf " + run + " --data " + data + steps + "-bs 2 --max-train-steps 2");
        const bool apart = std::string(tables).find("ensure") == std::string::npos;
        CHECK(contains(trained.out + trained.err, "--lora-ensure-weight-tying keeps them one") ==
              apart);
        ran("lockstep checkpoint convert " + run + " " + merged + " --merge");
        CHECK(loss_of(merged, data) == doctest::Approx(loss_of(run, data)).epsilon(1e-5));
        CHECK(json::parse(read_text(merged + "/config.json")).at("tie_word_embeddings") != apart);
        ran("lockstep checkpoint convert " + merged + " " + (merged + "_one") +
            " --to transformers");
        const auto found = tensors_of(merged + "_one/model.safetensors");
        CHECK(found.contains("lm_head.weight") == apart);
        const bool embeddings = std::string(tables).starts_with("embed_tokens");
        CHECK((found.at("model.embed_tokens.weight") != table) == embeddings);
        if (apart) CHECK((found.at("lm_head.weight") == table) == embeddings);
    }
}

TEST_CASE("a run of adapters is merged, made of a checkpoint and gone on from") {
    const ScratchFolder scratch;
    const std::string data = prepare(scratch), run = scratch / "run";
    const std::string more = " --data " + data + steps + "-bs 2 ";
    ran("lockstep train --init-model " + gpt2 + " --lora-r 3 --lora-alpha 5 --lora-rs" +
        " --lora-modules c_attn,mlp.c_proj -mf " + run + more + "--max-train-steps 3");
    // What a merge that was killed has left goes.
    const std::string killed = scratch / "merged.tmp-0123456789abcdef";
    write_text(killed + "/model.safetensors", "half");
    ran("lockstep checkpoint convert " + run + " " + (scratch / "merged") + " --merge");
    CHECK(!std::filesystem::exists(killed));
    ran("lockstep checkpoint convert " + run + " " + (scratch / "copy"));
    CHECK(loss_of(scratch / "merged", data) == doctest::Approx(loss_of(run, data)).epsilon(1e-5));
    CHECK(loss_of(scratch / "copy", data) == loss_of(run, data));
    CHECK(read_text(scratch / "copy/adapter_model.safetensors") ==
          read_text(run + "/adapter_model.safetensors"));
    // Another run begins with these adapters.
    const std::string next = scratch / "next",
                      left = next + "/adapter_config.json.tmp-0123456789abcdef";
    write_text(left, "{");
    ran("lockstep train --init-model " + run + " -mf " + next + more + "--max-train-steps 1");
    CHECK(!std::filesystem::exists(left));
    CHECK(json::parse(read_text(next + "/config.json")).at("lora") ==
          json::parse(read_text(run + "/config.json")).at("lora"));
    CHECK(loss_of(next, data) < loss_of(run, data));
    const auto plan =
        ran("lockstep plan --init-model " + gpt2 + " --lora-r 3" + more + "--max-train-steps 3");
    CHECK(contains(plan.out, "weights of the base, which stay as they are, fp32"));
}

TEST_CASE("adapters are added to what a run wrote, and both may be moved together") {
    const ScratchFolder scratch;
    const std::string data = prepare(scratch), full = scratch / "full", run = scratch / "run";
    const std::string more = " --data " + data + steps + "-bs 2 --max-train-steps 1";
    ran("lockstep train --init-model " + gpt2 + " --label-smoothing 0.1 -mf " + full + more);
    const std::string adapted = "lockstep train --init-model " + full + " --lora-r 2 -mf ";
    ran(adapted + run + more + " --label-smoothing 0.2");
    CHECK(loss_of(run, data) < loss_of(full, data));
    const std::string merged = scratch / "merged";
    ran("lockstep checkpoint convert " + run + " " + merged + " --merge");
    CHECK(loss_of(merged, data) == doctest::Approx(loss_of(run, data)).epsilon(1e-5));
    for (const char* file : {"lockstep.json", "metrics.jsonl", "lockstep_tokenizer.json"})
        CHECK(!std::filesystem::exists(merged + "/" + file));
    refuses("lockstep train --init-model " + full + "/checkpoints/step-00000001 --lora-r 2 -mf " +
                (scratch / "x") + more,
            {"lora"});
    refuses(adapted + (scratch / "x") + " --lora-dropout 1 " + more, {"--lora-dropout"});
    const double loss = loss_of(run, data);
    std::filesystem::create_directories(scratch / "moved");
    for (const char* name : {"full", "run"})
        std::filesystem::rename(scratch / name, scratch / ("moved/" + std::string(name)));
    const std::string there = scratch / "moved/run";
    auto own = json::parse(read_text(there + "/config.json"));
    own["lora"]["base"] = "../full";
    write_text(there + "/config.json", own.dump());
    CHECK(loss_of(there, data) == loss);
}

TEST_CASE("folders of adapters are listed and compared, and told by their own description") {
    const ScratchFolder scratch;
    const std::string data = prepare(scratch), run = scratch / "run";
    const std::string adapter = adapter_in(scratch, "gpt2", gpt2);
    ran("lockstep train --init-model " + gpt2 + " --lora " + adapter + " --lora-dropout 0.5 -mf " +
        run + " --data " + data + steps + "-bs 2 -lr 0 --optimizer sgd --max-train-steps 1");
    CHECK(contains(ran("lockstep checkpoint list " + adapter).out, "adapter_model.safetensors"));
    CHECK(contains(ran("lockstep checkpoint diff " + adapter + " " + adapter).out, "equal"));
    const auto same = run_line("lockstep checkpoint diff " + adapter + " " + run);
    CHECK(contains(same.out, "lora_dropout"));
    CHECK(contains(same.out, "0 of 12 tensors"));
    // A folder may have the config.json of its base.
    write_text(adapter + "/config.json", read_text(gpt2 + "/config.json"));
    CHECK(loss_of(adapter, data) == loss_of(run, data));
    ran("lockstep checkpoint verify " + adapter);
    ran("lockstep checkpoint verify " + run);
    auto config = json::parse(read_text(adapter + "/adapter_config.json"));
    config["base_model_name_or_path"] = "no/such/base";
    write_text(adapter + "/adapter_config.json", config.dump());
    ran("lockstep checkpoint diff " + adapter + " " + adapter);
    config["base_model_name_or_path"] = std::filesystem::absolute(gpt2).string();
    config["r"] = 3;
    write_text(adapter + "/adapter_config.json", config.dump());
    refuses("lockstep eval -mf " + adapter + " --data " + data + " --split valid",
            {"adapter_config.json: r"});
    config["r"] = 2;
    config["target_modules"] = {"c_attn", "c_proj", "c_fc"};
    write_text(adapter + "/adapter_config.json", config.dump());
    refuses("lockstep eval -mf " + adapter + " --data " + data + " --split valid",
            {"adapter_config.json: target_modules"});
}

TEST_CASE("a base that changed or is gone is refused by name") {
    const ScratchFolder scratch;
    const std::string data = prepare(scratch), base = scratch / "base", run = scratch / "run";
    copy_files(gpt2, base);
    const std::string line = "lockstep train --init-model " + base + " --lora-r 2 -mf " + run +
                             " --data " + data + steps + "-bs 2 --max-train-steps ";
    ran(line + "1");
    std::string bytes = read_text(base + "/model.safetensors");
    const auto at = train::open_safetensors(base + "/model.safetensors").tensors.front().offset;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_text(base + "/model.safetensors", bytes);
    refuses(line + "2", {"has changed", base.c_str()});
    refuses("lockstep eval -mf " + run + " --data " + data + " --split valid", {"has changed"});
    refuses("lockstep checkpoint convert " + run + " " + (scratch / "m") + " --merge",
            {"has changed"});
    std::filesystem::rename(base, scratch / "moved");
    refuses("lockstep eval -mf " + run + " --data " + data + " --split valid",
            {"is not there", base.c_str()});
}

TEST_CASE("a merge of values that are not finite or beside another config.json is refused") {
    const ScratchFolder scratch;
    const std::string data = prepare(scratch), base = scratch / "base", run = scratch / "run";
    copy_files(gpt2, base);
    const std::string line = "lockstep train --init-model " + base + " --lora-r 2 -mf " + run +
                             " --data " + data + steps + "-bs 2 --max-train-steps ";
    ran(line + "1");
    const std::string merge =
        "lockstep checkpoint convert " + run + " " + (scratch / "m") + " --merge";
    const std::string config = read_text(base + "/config.json");
    auto other = nlohmann::json::parse(config);
    other["layer_norm_epsilon"] = 1e-5;
    other["n_head"] = 1;
    write_text(base + "/config.json", other.dump());
    refuses(merge, {"config.json", "has changed"});
    write_text(base + "/config.json", config);
    // A run that goes on reads no other adapters.
    const std::string adapter = adapter_in(scratch, "gpt2", gpt2);
    const auto goes_on =
        run_line("lockstep train -mf " + run + " --lora " + adapter + " --max-train-steps 2");
    CAPTURE(goes_on.err);
    CHECK(goes_on.code == 0);
    CHECK((goes_on.out + goes_on.err).find("is not read") != std::string::npos);
    const std::string weights = adapter + "/adapter_model.safetensors";
    std::string bytes = read_text(weights);
    const auto at = train::open_safetensors(weights).tensors.front().offset;
    bytes[at + 2] = '\xC0';
    bytes[at + 3] = '\x7F';
    write_text(weights, bytes);
    refuses("lockstep checkpoint convert " + adapter + " " + (scratch / "m") + " --merge", {"NaN"});
    refuses("lockstep train --max-train-steps 1 --data " + data + " -mf " + (scratch / "n") +
                " --init-model " + gpt2 + " --lora " + adapter,
            {"--lora", "NaN"});
    CHECK_FALSE(std::filesystem::exists(scratch / "m"));
}

TEST_CASE("what does not fit adapters is refused in one line") {
    const ScratchFolder scratch;
    const std::string data = prepare(scratch), llama = llama_in(scratch);
    const std::string line =
        "lockstep train --max-train-steps 1 --data " + data + " -mf " + (scratch / "m") + " ";
    refuses(line + "--lora-r 2", {"--lora-r", "--init-model"});
    refuses(line + "--lora-r 2 -m gpt2", {"--lora-r", "--init-model"});
    refuses(line + "--lora-alpha 2 --init-model " + gpt2, {"--lora-alpha", "--lora-r"});
    refuses(line + "--lora-r 2 --lora-modules q_proj --init-model " + gpt2,
            {"--lora-modules", "q_proj", "c_attn"});
    refuses(line + "--lora-r 2 --lora-modules , --init-model " + gpt2, {"--lora-modules"});
    refuses(line + "--lora-modules-to-save wte --init-model " + gpt2,
            {"--lora-modules-to-save", "--lora-r"});
    refuses(line + "--lora-r 2 --lora-modules-to-save ln_f --init-model " + gpt2,
            {"--lora-modules-to-save: 'ln_f'", "wte, lm_head"});
    refuses(line + "--lora-r 2 --lora-ensure-weight-tying --init-model " + gpt2,
            {"--lora-modules-to-save"});
    refuses("lockstep train --max-train-steps 1 --data " + prepare(scratch, llama) + " -mf " +
                (scratch / "m") + " --lora-r 2 --lora-modules-to-save lm_head " +
                "--lora-ensure-weight-tying --init-model " + llama,
            {"--lora-ensure-weight-tying", "not its table"});
    refuses("lockstep checkpoint convert " + adapter_in(scratch, "gpt2_table", gpt2) + " " +
                (scratch / "m") + " --merge",
            {"--merge", "merge_and_unload"});
    const std::string adapter = adapter_in(scratch, "gpt2", gpt2);
    refuses(line + "--lora-r 2 --lora " + adapter + " --init-model " + gpt2, {"contradicts"});
    refuses(line + "--lora-rs --lora " + adapter + " --init-model " + gpt2, {"--lora-rs"});
    refuses("lockstep train --max-train-steps 1 --data " + prepare(scratch, llama) + " -mf " +
                (scratch / "m") + " --lora " + adapter + " --init-model " + llama,
            {"c_attn"});
    refuses(line + "--lora " + data + " --init-model " + gpt2, {"adapter_config.json"});
    refuses(line + "--lora " + adapter, {"--lora", "--init-model"});
    refuses("lockstep train --max-train-steps 1 --data " + data + " -mf " + adapter +
                " --lora-r 2 --init-model " + gpt2,
            {"--lora"});
    const std::string other = adapter_in(scratch, "gpt2_attention", gpt2);
    write_text(other + "/adapter_model.safetensors",
               read_text(adapter + "/adapter_model.safetensors"));
    refuses(line + "--lora " + other + " --init-model " + gpt2, {"adapter_model.safetensors"});
    refuses("lockstep eval -mf " + other + " --data " + data, {"adapter_model.safetensors"});
    std::filesystem::remove(other + "/adapter_model.safetensors");
    refuses(line + "--lora " + other + " --init-model " + gpt2, {"adapter_model.safetensors"});
    auto config = json::parse(read_text(adapter + "/adapter_config.json"));
    config["use_dora"] = true;
    write_text(adapter + "/adapter_config.json", config.dump());
    refuses("lockstep eval -mf " + adapter + " --data " + data, {"use_dora"});
    CHECK(!std::filesystem::exists(scratch / "m"));
    // Only the options of its own adapters fit a run.
    ran(line + "--init-model " + gpt2);
    refuses("lockstep train --max-train-steps 2 --data " + data + " -mf " + (scratch / "m") +
                " --lora-r 2",
            {"--lora-r", "no adapters"});
}

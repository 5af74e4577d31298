// SPDX-License-Identifier: Apache-2.0
// Adapters (LoRA) as programs train, keep, use and merge them, on tiny models of transformers:
// PEFT's own figures, which make_adapter_goldens.py wrote.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/train/checkpoint/safetensors_header.hpp"
#include "tests/launcher/programs/adapters_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::tests::adapter_runs;
using nlohmann::json;

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
        const std::string& given = tables;
        CAPTURE(given);
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
        const std::string& given = tables;
        CAPTURE(given);
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

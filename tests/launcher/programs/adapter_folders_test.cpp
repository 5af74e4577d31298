// SPDX-License-Identifier: Apache-2.0
// Folders of adapters (LoRA): merged, made of checkpoints, moved, listed and compared, and what is
// refused of them.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/launcher/programs/adapters_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::tests::adapter_runs;
using nlohmann::json;

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

// SPDX-License-Identifier: Apache-2.0
// What of adapter_config.json is read, and what is refused.
#include "model/peft_config.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"

using namespace lockstep;
using nlohmann::json;

namespace {

void refused(const json& config, const char* part) {
    CAPTURE(config.dump());
    CHECK_THROWS_WITH_AS((void)model::lora_from_peft(config.dump(), "F", model::Kind::llama),
                         doctest::Contains(part), Error);
}

}  // namespace

TEST_CASE("adapters of other kinds are refused by their key") {
    const json good{{"peft_type", "LORA"},       {"r", 4},
                    {"lora_alpha", 8},           {"target_modules", {"q_proj"}},
                    {"use_dora", false},         {"rank_pattern", json::object()},
                    {"modules_to_save", nullptr}};
    CHECK(model::lora_from_peft(good.dump(), "F", model::Kind::llama).rank == 4);
    const auto with = [&](const char* key, const json& value) {
        json changed = good;
        changed[key] = value;
        return changed;
    };
    refused(with("peft_type", "IA3"), "\"peft_type\" is \"IA3\"");
    refused(with("r", 0), "\"r\" is 0");
    refused(with("r", "4"), "\"r\"");
    refused(with("lora_alpha", -1), "\"lora_alpha\" is -1");
    refused(with("use_rslora", 1), "\"use_rslora\"");
    refused(with("bias", "all"), "\"bias\" is \"all\"");
    refused(with("use_dora", true), "\"use_dora\" is true");
    const auto saved = [&](const json& names) {
        return model::lora_from_peft(with("modules_to_save", names).dump(), "F", model::Kind::llama)
            .saved;
    };
    CHECK(saved({"lm_head", "embed_tokens"}) ==
          std::vector<std::string>{"model.embed_tokens", "lm_head"});
    CHECK(saved({"model.embed_tokens"}) == std::vector<std::string>{"model.embed_tokens"});
    CHECK(saved(json::array()).empty());
    refused(with("modules_to_save", {"lm_head", "norm"}), "\"modules_to_save\": 'norm'");
    refused(with("modules_to_save", {"wte"}), "embed_tokens, lm_head");
    refused(with("modules_to_save", {"tokens"}), "'tokens'");
    refused(with("modules_to_save", {""}), "\"modules_to_save\"");
    refused(with("modules_to_save", {1}), "\"modules_to_save\" is [1]");
    refused(with("modules_to_save", "lm_head"), "\"modules_to_save\" is \"lm_head\"");
    // PEFT does not take this name for a tied table.
    const auto tied = [&](const json& names) {
        json changed = with("modules_to_save", names);
        changed["target_modules"] = {"c_attn"};
        changed["ensure_weight_tying"] = true;
        return model::lora_from_peft(changed.dump(), "F", model::Kind::gpt2).ensure_tied;
    };
    CHECK(tied({"wte"}) == model::Has::no);
    CHECK(tied({"lm_head"}) == model::Has::yes);
    CHECK(tied(nullptr) == model::Has::no);
    refused(with("ensure_weight_tying", "yes"), "\"ensure_weight_tying\"");
    refused(with("rank_pattern", {{"q_proj", 0}}), "\"rank_pattern\"");
    refused(with("rank_pattern", {{"q_proj", 1.5}}), "\"rank_pattern\"");
    refused(with("rank_pattern", {{"^model.*q_proj", 8}}), "\"rank_pattern\"");
    refused(with("rank_pattern", {8}), "\"rank_pattern\"");
    refused(with("alpha_pattern", {{"q_proj", "x"}}), "\"alpha_pattern\"");
    refused(with("task_type", "SEQ_CLS"), "\"task_type\" is \"SEQ_CLS\"");
    refused(with("lora_dropout", "x"), "\"lora_dropout\" is \"x\"");
    refused(with("lora_dropout", 1), "\"lora_dropout\" is 1");
    CHECK(
        model::lora_from_peft(with("lora_dropout", 0.25).dump(), "F", model::Kind::llama).dropout ==
        0.25f);
    refused(with("layers_to_transform", {0}), "\"layers_to_transform\"");
    refused(with("init_lora_weights", "pissa"), "\"init_lora_weights\" is \"pissa\"");
    refused(with("use_qalora", true), "\"use_qalora\" is true");
    refused(with("something_new", 3), "\"something_new\" is 3");
    refused(with("target_modules", ".*q_proj"), "\"target_modules\"");
    refused(with("target_modules", {"q_proj", "lm_head"}), "'lm_head'");
    refused(with("target_modules", {"proj"}), "'proj'");
    refused(with("target_modules", json::array()), "names no module");
    refused(with("target_modules", {3}), "\"target_modules\"");
    CHECK_THROWS_WITH_AS((void)model::peft_base("[]", "F"), doctest::Contains("F: is not"), Error);
    CHECK_THROWS_WITH_AS((void)model::peft_base(good.dump(), "F"),
                         doctest::Contains("base_model_name_or_path"), Error);
    CHECK_THROWS_WITH_AS((void)model::lora_from_peft(good.dump(), "F", model::Kind::generator),
                         doctest::Contains("adapters are not built"), Error);
}

// SPDX-License-Identifier: Apache-2.0
#include "model/peft_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "model/lora_modules.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

using Json = nlohmann::json;

// These keys say nothing about what trained adapters compute: dropout is none outside of training.
constexpr std::array no_meaning{"peft_type",     "task_type",         "base_model_name_or_path",
                                "auto_mapping",  "fan_in_fan_out",    "inference_mode",
                                "lora_dropout",  "megatron_config",   "megatron_core",
                                "peft_version",  "qalora_group_size", "revision",
                                "runtime_config"};

class PeftKeys {
public:
    PeftKeys(const std::string& text, const std::string& origin)
        : json_(try_parse_json(text)), origin_(origin) {
        if (!json_.is_object()) refuse("is not a JSON object; copy the file again");
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw Error(ErrorKind::config, origin_ + ": " + what);
    }
    [[noreturn]] void refuse(const std::string& key, const std::string& wanted) const {
        refuse("\"" + key + "\" is " + shown(dump_json(at(key))) + ", but only " + wanted +
               " is read");
    }

    // Returns null if the key is missing.
    const Json& at(const std::string& key) const {
        const auto found = json_.find(key);
        return found == json_.end() ? none_ : *found;
    }
    bool has(const std::string& key) const {
        const Json& value = at(key);
        const bool empty = (value.is_structured() || value.is_string()) && value.empty();
        return !(value.is_null() || empty || value == false);
    }
    void require_none(const std::string& key, const std::string& wanted) const {
        if (has(key)) refuse(key, wanted);
    }
    void require_nothing_else(const std::vector<std::string>& read) const {
        for (const auto& [key, value] : json_.items())
            if (std::ranges::find(read, key) == read.end() &&
                std::ranges::find(no_meaning, key) == no_meaning.end() && has(key))
                refuse("\"" + shown(key) + "\" is " + shown(dump_json(value)) +
                       ", which Lockstep does not know; its adapters are PEFT's plain LoRA");
    }

private:
    const Json json_, none_;
    const std::string origin_;
};

std::vector<std::string> targets_of(const PeftKeys& keys) {
    const Json& targets = keys.at("target_modules");
    if (targets == "all-linear") return {"all-linear"};
    if (!targets.is_array()) keys.refuse("target_modules", "a list of names, or all-linear,");
    std::vector<std::string> names;
    for (const Json& target : targets) {
        if (!target.is_string()) keys.refuse("target_modules", "a list of names, or all-linear,");
        names.push_back(target.get<std::string>());
    }
    return names;
}

// Some ways to begin change the base's weights, too.
void require_own_base(const PeftKeys& keys) {
    constexpr std::array kept{"gaussian", "orthogonal", "eva"};
    const Json& way = keys.at("init_lora_weights");
    if (way.is_null() || way.is_boolean()) return;
    if (std::ranges::none_of(kept, [&](const char* name) { return way == name; }))
        keys.refuse("init_lora_weights", "an adapter that leaves its base as it is");
}

void read_sizes(const PeftKeys& keys, Lora& lora) {
    const Json& rank = keys.at("r");
    if (!rank.is_number_integer() || rank.get<double>() < 1 ||
        rank.get<double>() > std::numeric_limits<std::int32_t>::max())
        keys.refuse("r", "a whole number from 1");
    lora.rank = rank.get<std::int64_t>();
    const Json& alpha = keys.at("lora_alpha");
    if (!alpha.is_number() || !(alpha.get<double>() > 0) ||
        alpha.get<double>() > std::numeric_limits<float>::max())
        keys.refuse("lora_alpha", "a number above 0");
    lora.alpha = alpha.get<float>();
    const Json& stabilized = keys.at("use_rslora");
    if (!stabilized.is_null() && !stabilized.is_boolean())
        keys.refuse("use_rslora", "true or false");
    lora.rank_stabilized = stabilized == true ? Has::yes : Has::no;
}

}  // namespace

std::string peft_base(const std::string& text, const std::string& origin) {
    const PeftKeys keys(text, origin);
    if (keys.at("peft_type") != "LORA") keys.refuse("peft_type", "LORA");
    const Json& base = keys.at("base_model_name_or_path");
    if (!base.is_string() || base == "")
        keys.refuse("base_model_name_or_path", "the folder of the adapters' base");
    return base.get<std::string>();
}

Lora lora_from_peft(const std::string& text, const std::string& origin, Kind kind) {
    const PeftKeys keys(text, origin);
    if (keys.at("peft_type") != "LORA") keys.refuse("peft_type", "LORA");
    if (keys.has("bias") && keys.at("bias") != "none") keys.refuse("bias", "none");
    keys.require_none("use_dora", "LoRA without DoRA's magnitudes");
    keys.require_none("modules_to_save", "an adapter without whole modules");
    keys.require_none("rank_pattern", "one rank for all modules");
    keys.require_none("alpha_pattern", "one alpha for all modules");
    keys.require_none("layers_to_transform", "an adapter of all layers");
    keys.require_none("exclude_modules", "a list of target_modules without exceptions");
    require_own_base(keys);
    keys.require_nothing_else(
        {"r", "lora_alpha", "use_rslora", "target_modules", "bias", "init_lora_weights"});
    Lora lora;
    read_sizes(keys, lora);
    lora.modules = lora_paths(kind, targets_of(keys), origin + ": \"target_modules\"");
    return lora;
}

std::string to_peft(const ModelConfig& config) {
    const Lora& lora = config.lora;
    nlohmann::ordered_json json{{"peft_type", "LORA"},
                                {"task_type", "CAUSAL_LM"},
                                {"auto_mapping", nullptr},
                                {"base_model_name_or_path", lora.base},
                                {"revision", nullptr},
                                {"inference_mode", true},
                                {"r", lora.rank},
                                {"target_modules", lora_targets(config)},
                                {"exclude_modules", nullptr},
                                {"lora_alpha", lora.alpha},
                                {"lora_dropout", 0.0},
                                {"fan_in_fan_out", config.kind == Kind::gpt2},
                                {"bias", "none"},
                                {"use_rslora", lora.rank_stabilized == Has::yes},
                                {"modules_to_save", nullptr},
                                {"init_lora_weights", true},
                                {"layers_to_transform", nullptr},
                                {"layers_pattern", nullptr},
                                {"rank_pattern", nlohmann::ordered_json::object()},
                                {"alpha_pattern", nlohmann::ordered_json::object()},
                                {"use_dora", false}};
    // PEFT's alpha is a whole number where it can be.
    if (lora.alpha == std::floor(lora.alpha) && lora.alpha < 1e9F)
        json["lora_alpha"] = static_cast<std::int64_t>(lora.alpha);
    return dump_json(json, 2) + "\n";
}

std::string peft_name(const ModelConfig& config, const ParameterPlace& place) {
    const auto modules = lora_modules(config.kind);
    const auto module = std::ranges::find_if(modules, [&](const LoraModule& each) {
        return each.role == place.role && each.part == place.part;
    });
    require(module != modules.end(), "the parameter is an adapter's");
    const char* const layers = config.kind == Kind::gpt2 ? "transformer.h." : "model.layers.";
    return "base_model.model." + std::string(layers) + std::to_string(place.layer) + "." +
           module->path + (place.values == Values::lora_a ? ".lora_A.weight" : ".lora_B.weight");
}

}  // namespace lockstep::model

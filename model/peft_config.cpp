// SPDX-License-Identifier: Apache-2.0
#include "model/peft_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/huggingface_keys.hpp"
#include "model/lora_modules.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

using Json = nlohmann::ordered_json;

// These keys say nothing about what adapters compute.
constexpr std::array no_meaning{"peft_type",         "base_model_name_or_path",
                                "auto_mapping",      "fan_in_fan_out",
                                "inference_mode",    "megatron_config",
                                "megatron_core",     "peft_version",
                                "qalora_group_size", "revision",
                                "runtime_config"};

class PeftKeys {
public:
    PeftKeys(const std::string& text, const std::string& origin)
        : json_(try_parse_ordered_json(text)), origin_(origin) {
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

std::vector<std::string> names_at(const PeftKeys& keys, const char* key,
                                  const std::string& wanted) {
    const Json& list = keys.at(key);
    if (!list.is_array()) keys.refuse(key, wanted);
    std::vector<std::string> names;
    for (const Json& name : list) {
        if (!name.is_string()) keys.refuse(key, wanted);
        names.push_back(name.get<std::string>());
    }
    return names;
}

std::vector<std::string> targets_of(const PeftKeys& keys) {
    if (keys.at("target_modules") == "all-linear") return {"all-linear"};
    return names_at(keys, "target_modules", "a list of names, or all-linear,");
}

// PEFT ties tables that have one of these names, and writes the last one for a GPT-2.
bool is_tied_by(const std::string& name) {
    const std::string last = name.substr(name.rfind('.') + 1);
    return last == "embed_tokens" || last == "lm_head" || name == "transformer.wte";
}

void read_whole_modules(const PeftKeys& keys, const std::string& origin, Kind kind, Lora& lora) {
    const Json& tied = keys.at("ensure_weight_tying");
    if (!tied.is_null() && !tied.is_boolean()) keys.refuse("ensure_weight_tying", "true or false");
    if (!keys.has("modules_to_save")) return;
    const std::vector<std::string> names = names_at(keys, "modules_to_save", "a list of names");
    lora.saved = whole_paths(kind, names, origin + ": \"modules_to_save\"");
    if (tied == true && std::ranges::any_of(names, is_tied_by)) tie_tables(kind, lora);
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
    const Json& dropout = keys.at("lora_dropout");
    const bool is_share =
        dropout.is_number() && dropout.get<double>() >= 0 && dropout.get<double>() < 1;
    if (!dropout.is_null() && !is_share) keys.refuse("lora_dropout", "a share from 0 to below 1");
    lora.dropout = is_share ? dropout.get<float>() : 0.0F;
}

// PEFT takes keys for regular expressions; most are names.
bool is_end_of_path(const std::string& key) {
    return !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.';
    });
}

template <class Value>
std::vector<std::pair<std::string, Value>> read_pattern(const PeftKeys& keys,
                                                        const std::string& member) {
    std::vector<std::pair<std::string, Value>> values;
    if (!keys.has(member)) return values;
    const Json& all = keys.at(member);
    const std::string wanted = "names of modules, or their ends, with numbers above 0";
    if (!all.is_object()) keys.refuse(member, wanted);
    for (const auto& [name, value] : all.items()) {
        const bool whole = std::is_same_v<Value, float> || value.is_number_integer();
        if (!is_end_of_path(name) || !value.is_number() || !whole ||
            !(value.template get<double>() > 0) ||
            value.template get<double>() > std::numeric_limits<std::int32_t>::max())
            keys.refuse(member, wanted);
        values.emplace_back(name, value.template get<Value>());
    }
    return values;
}

// PEFT's alpha is a whole number where it can be.
Json number_of(float alpha) {
    if (alpha == std::floor(alpha) && alpha < 1e9F) return static_cast<std::int64_t>(alpha);
    return shortest(alpha);
}

}  // namespace

std::string peft_base(const std::string& text, const std::string& origin) {
    const PeftKeys keys(text, origin);
    if (keys.at("peft_type") != "LORA") keys.refuse("peft_type", "LORA");
    const Json& base = keys.at("base_model_name_or_path");
    if (!base.is_string() || base.get_ref<const std::string&>().empty())
        keys.refuse("base_model_name_or_path", "the folder of the adapters' base");
    return base.get<std::string>();
}

Lora lora_from_peft(const std::string& text, const std::string& origin, Kind kind) {
    const PeftKeys keys(text, origin);
    if (keys.at("peft_type") != "LORA") keys.refuse("peft_type", "LORA");
    if (keys.has("bias") && keys.at("bias") != "none") keys.refuse("bias", "none");
    if (keys.has("task_type") && keys.at("task_type") != "CAUSAL_LM")
        keys.refuse("task_type", "an adapter of a language model (CAUSAL_LM)");
    keys.require_none("use_dora", "LoRA without DoRA's magnitudes");
    keys.require_none("layers_to_transform", "an adapter of all layers");
    keys.require_none("exclude_modules", "a list of target_modules without exceptions");
    require_own_base(keys);
    keys.require_nothing_else({"r", "lora_alpha", "use_rslora", "target_modules", "bias",
                               "init_lora_weights", "task_type", "lora_dropout", "rank_pattern",
                               "alpha_pattern", "modules_to_save", "ensure_weight_tying"});
    Lora lora;
    read_sizes(keys, lora);
    lora.ranks = read_pattern<std::int64_t>(keys, "rank_pattern");
    lora.alphas = read_pattern<float>(keys, "alpha_pattern");
    lora.modules = lora_paths(kind, targets_of(keys), origin + ": \"target_modules\"");
    read_whole_modules(keys, origin, kind, lora);
    return lora;
}

std::string to_peft(const ModelConfig& config) {
    const Lora& lora = config.lora;
    nlohmann::ordered_json json{
        {"peft_type", "LORA"},
        {"task_type", "CAUSAL_LM"},
        {"auto_mapping", nullptr},
        {"base_model_name_or_path", lora.base},
        {"revision", nullptr},
        {"inference_mode", true},
        {"r", lora.rank},
        {"target_modules", lora_targets(config)},
        {"exclude_modules", nullptr},
        {"lora_alpha", number_of(lora.alpha)},
        {"lora_dropout", lora.dropout > 0 ? shortest(lora.dropout) : Json(0.0)},
        {"fan_in_fan_out", config.kind == Kind::gpt2},
        {"bias", "none"},
        {"use_rslora", lora.rank_stabilized == Has::yes},
        {"modules_to_save", nullptr},
        {"init_lora_weights", true},
        {"layers_to_transform", nullptr},
        {"layers_pattern", nullptr},
        {"rank_pattern", Json::object()},
        {"alpha_pattern", Json::object()},
        {"use_dora", false}};
    for (const std::string& path : lora.saved)
        json["modules_to_save"].push_back(path.substr(path.rfind('.') + 1));
    // Versions of PEFT that do not know the key refuse it.
    if (lora.ensure_tied == Has::yes) json["ensure_weight_tying"] = true;
    for (const auto& [module, rank] : lora.ranks) json["rank_pattern"][module] = rank;
    for (const auto& [module, alpha] : lora.alphas)
        json["alpha_pattern"][module] = number_of(alpha);
    return dump_json(json, 2) + "\n";
}

std::string peft_name(const ModelConfig& config, const ParameterPlace& place) {
    const std::string name = "base_model.model." + lora_module_name(config.kind, place);
    if (place.values == Values::weight) return name + ".weight";
    return name + (place.values == Values::lora_a ? ".lora_A.weight" : ".lora_B.weight");
}

}  // namespace lockstep::model

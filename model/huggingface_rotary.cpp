// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_rotary.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

// What a rope_type reads besides its theta.
struct RotaryType {
    const char* name;
    RotaryScaling scaling;
    std::vector<const char*> keys;
};

std::vector<RotaryType> rotary_types() {
    return {{"default", RotaryScaling::none, {}},
            {"linear", RotaryScaling::linear, {"factor"}},
            {"llama3",
             RotaryScaling::llama3,
             {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
            {"yarn",
             RotaryScaling::yarn,
             {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast",
              "beta_slow", "mscale", "mscale_all_dim", "truncate"}}};
}

// Reads one object of rotary positions, `key` of the config.
class RotaryReader {
public:
    RotaryReader(const ConfigKeys& keys, const char* key, const nlohmann::json& values)
        : keys_(keys), key_(key), values_(values) {
        if (!values_.is_object()) keys_.refuse(key_, "an object with a \"rope_type\"");
    }

    std::string type() const {
        const nlohmann::json *now = find("rope_type"), *before = find("type");
        if (now != nullptr && before != nullptr && *now != *before)
            keys_.refuse(key_, "one rope_type");
        const nlohmann::json* const named = now != nullptr ? now : before;
        if (named == nullptr) return "default";
        if (!named->is_string()) keys_.refuse(key_, "a rope_type that is a text");
        return named->get<std::string>();
    }
    double number(const char* name, double missing) const {
        const nlohmann::json* const found = find(name);
        if (found == nullptr) return missing;
        const double value = found->is_number() ? found->get<double>() : std::nan("");
        if (!(value > 0 && value < 1e30))
            keys_.refuse(key_, "a \"" + std::string(name) + "\" above 0");
        return value;
    }
    double needed(const char* name) const {
        if (find(name) == nullptr) keys_.refuse(key_, "\"" + std::string(name) + "\", too");
        return number(name, 0);
    }
    const nlohmann::json* find(const char* name) const {
        const auto found = values_.find(name);
        return found == values_.end() || found->is_null() ? nullptr : &*found;
    }
    // Refuses what the type does not read.
    void require_known(const RotaryType& type) const {
        if (number("partial_rotary_factor", 1) != 1)
            keys_.refuse(key_, "positions that turn whole heads");
        constexpr std::array always{"rope_type", "type", "rope_theta", "partial_rotary_factor"};
        for (const auto& [name, value] : values_.items()) {
            const auto same = [&name = name](const char* known) { return name == known; };
            if (value.is_null() || std::ranges::any_of(always, same) ||
                std::ranges::any_of(type.keys, same))
                continue;
            keys_.refuse(key_, "no \"" + shown(name) + "\" for rope_type " + type.name);
        }
    }

private:
    const ConfigKeys& keys_;
    const char* key_;
    const nlohmann::json& values_;
};

double yarn_attention_factor(const RotaryReader& values, double factor) {
    const auto scale = [factor](double of) {
        return factor <= 1 ? 1.0 : 0.1 * of * std::log(factor) + 1;
    };
    const bool both = values.find("mscale") != nullptr && values.find("mscale_all_dim") != nullptr;
    const double inferred =
        both ? scale(values.number("mscale", 1)) / scale(values.number("mscale_all_dim", 1))
             : scale(1);
    return values.number("attention_factor", inferred);
}

void read_scaling(const RotaryReader& values, double n_positions, Rotary& rotary) {
    const double original = values.number("original_max_position_embeddings", n_positions);
    rotary.original_positions = static_cast<float>(original);
    if (rotary.scaling == RotaryScaling::llama3) {
        rotary.low_frequency_factor = static_cast<float>(values.needed("low_freq_factor"));
        rotary.high_frequency_factor = static_cast<float>(values.needed("high_freq_factor"));
    }
    if (rotary.scaling != RotaryScaling::yarn) {
        rotary.factor = static_cast<float>(values.needed("factor"));
        return;
    }
    const double factor = values.number("factor", n_positions / original);
    rotary.factor = static_cast<float>(factor);
    rotary.beta_fast = static_cast<float>(values.number("beta_fast", 32));
    rotary.beta_slow = static_cast<float>(values.number("beta_slow", 1));
    const nlohmann::json* const truncate = values.find("truncate");
    rotary.whole_bounds = truncate == nullptr || *truncate == true ? Has::yes : Has::no;
    rotary.attention_factor = static_cast<float>(yarn_attention_factor(values, factor));
}

// Files that are older than the key come from transformers whose LLaMA knew no other theta.
bool is_older_than_theta(ConfigKeys& keys) {
    const nlohmann::json* const version = keys.find("transformers_version");
    if (keys.family() != "llama" || version == nullptr || !version->is_string()) return false;
    const auto& text = version->get_ref<const std::string&>();
    int minor = 0;
    if (!text.starts_with("4.")) return false;
    const char* const end = text.data() + text.size();
    return std::from_chars(text.data() + 2, end, minor).ec == std::errc() && minor < 33;
}

}  // namespace

Rotary read_rotary(ConfigKeys& keys, std::int64_t n_positions) {
    const nlohmann::json* const now = keys.find("rope_parameters");
    const nlohmann::json* const before = keys.find("rope_scaling");
    if (now != nullptr && before != nullptr && *now != *before)
        keys.refuse("rope_scaling", "the same values in rope_scaling and rope_parameters");
    const nlohmann::json empty = nlohmann::json::object();
    const char* const key = now != nullptr ? "rope_parameters" : "rope_scaling";
    const RotaryReader values(keys, key,
                              now != nullptr      ? *now
                              : before != nullptr ? *before
                                                  : empty);
    keys.require("partial_rotary_factor", 1.0);

    Rotary rotary;
    const double outside = keys.positive("rope_theta", 0);
    const double theta = values.number("rope_theta", outside);
    if (outside != 0 && outside != theta)
        keys.refuse("rope_theta", "the one theta that " + std::string(key) + " has, too");
    const bool old = now == nullptr && before == nullptr && is_older_than_theta(keys);
    if (theta == 0 && !old) keys.refuse("rope_theta", "a number above 0");
    if (theta != 0) rotary.theta = static_cast<float>(theta);

    const std::string type = values.type();
    const auto types = rotary_types();
    const auto found = std::ranges::find(types, type, &RotaryType::name);
    if (found == types.end())
        keys.refuse(key,
                    "a rope_type of default, linear, llama3 or yarn instead of " + shown(type));
    values.require_known(*found);
    rotary.scaling = found->scaling;
    if (rotary.scaling != RotaryScaling::none)
        read_scaling(values, static_cast<double>(n_positions), rotary);
    return rotary;
}

namespace {

void write_scaling(nlohmann::ordered_json& values, const Rotary& rotary) {
    values["factor"] = shortest(rotary.factor);
    if (rotary.scaling == RotaryScaling::linear) return;
    values["original_max_position_embeddings"] =
        static_cast<std::int64_t>(rotary.original_positions);
    if (rotary.scaling == RotaryScaling::llama3) {
        values["low_freq_factor"] = shortest(rotary.low_frequency_factor);
        values["high_freq_factor"] = shortest(rotary.high_frequency_factor);
        return;
    }
    values["beta_fast"] = shortest(rotary.beta_fast);
    values["beta_slow"] = shortest(rotary.beta_slow);
    values["attention_factor"] = shortest(rotary.attention_factor);
    values["truncate"] = rotary.whole_bounds == Has::yes;
}

}  // namespace

void write_rotary(nlohmann::ordered_json& json, const Rotary& rotary) {
    const auto types = rotary_types();
    nlohmann::ordered_json values;
    values["rope_type"] = std::ranges::find(types, rotary.scaling, &RotaryType::scaling)->name;
    values["rope_theta"] = shortest(rotary.theta);
    json["rope_theta"] = values["rope_theta"];
    if (rotary.scaling == RotaryScaling::none) {
        json["rope_scaling"] = nullptr;
    } else {
        write_scaling(values, rotary);
        json["rope_scaling"] = values;
    }
    json["rope_parameters"] = values;
}

}  // namespace lockstep::model

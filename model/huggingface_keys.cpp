// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

constexpr std::uint64_t largest_whole = std::uint64_t{1} << 62;

// Says that a part which nobody knows is not there.
bool says_nothing(const nlohmann::json& value) {
    return value.is_null() || value == false ||
           ((value.is_object() || value.is_array()) && value.empty());
}

// Keys of programs that write down how they made a model.
bool is_note(const std::string& name) {
    return name.starts_with("_") || name.starts_with("unsloth_") || name.starts_with("lockstep_");
}

}  // namespace

nlohmann::ordered_json shortest(float value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    return nlohmann::ordered_json::parse(digits.begin(), end);
}

nlohmann::ordered_json value_of(const ConfigKey& key, const ModelConfig& config) {
    if (const auto* size = std::get_if<std::int64_t ModelConfig::*>(&key.member))
        return config.*(*size);
    if (const auto* rate = std::get_if<float ModelConfig::*>(&key.member))
        return shortest(config.*(*rate));
    if (const auto* part = std::get_if<std::int64_t LayerParts::*>(&key.member))
        return config.parts.*(*part);
    if (const auto* value = std::get_if<float LayerParts::*>(&key.member))
        return shortest(config.parts.*(*value));
    return config.parts.*std::get<Has LayerParts::*>(key.member) == Has::yes;
}

void write_keys(std::span<const ConfigKey> keys, const ModelConfig& config,
                const ModelConfig* before, nlohmann::ordered_json& json) {
    for (const ConfigKey& key : keys) {
        nlohmann::ordered_json value = value_of(key, config);
        if (before == nullptr || value != value_of(key, *before)) json[key.key] = std::move(value);
    }
}

const nlohmann::json* ConfigKeys::find(const char* name) {
    read_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigKeys::is_null(const char* name) const {
    const auto found = json_.find(name);
    return found != json_.end() && found->is_null();
}

std::int64_t ConfigKeys::whole(const char* name, std::int64_t missing) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return missing;
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() && found->get<std::uint64_t>() > largest_whole) ||
        found->get<std::int64_t>() < 1)
        refuse(name, "a whole number above 0");
    return found->get<std::int64_t>();
}

float ConfigKeys::share(const char* name, double missing) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return static_cast<float>(missing);
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (!(value >= 0 && value < 1)) refuse(name, "a share from 0 to below 1");
    return static_cast<float>(value);
}

double ConfigKeys::positive(const char* name, double missing) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return missing;
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (!(value > 0 && value < 1e30)) refuse(name, "a number above 0");
    return value;
}

Has ConfigKeys::flag(const char* name, Has missing) {
    const nlohmann::json* const found = find(name);
    if (found == nullptr) return missing;
    if (!found->is_boolean()) refuse(name, "true or false");
    return found->get<bool>() ? Has::yes : Has::no;
}

void ConfigKeys::read(const ConfigKey& key, ModelConfig& config) {
    const auto number = [&] { return whole(key.key, static_cast<std::int64_t>(key.missing)); };
    if (const auto* size = std::get_if<std::int64_t ModelConfig::*>(&key.member))
        config.*(*size) = number();
    else if (const auto* rate = std::get_if<float ModelConfig::*>(&key.member))
        config.*(*rate) = share(key.key, key.missing);
    else if (const auto* part = std::get_if<std::int64_t LayerParts::*>(&key.member))
        config.parts.*(*part) = number();
    else if (const auto* value = std::get_if<float LayerParts::*>(&key.member))
        config.parts.*(*value) = static_cast<float>(positive(key.key, key.missing));
    else if (const auto* has = std::get_if<Has LayerParts::*>(&key.member))
        config.parts.*(*has) = flag(key.key, key.missing == 0 ? Has::no : Has::yes);
}

void ConfigKeys::require(const char* name, const nlohmann::json& only) {
    const nlohmann::json* const found = find(name);
    if (found != nullptr && *found != only) refuse(name, dump_json(only));
}

void ConfigKeys::require_one_of(const char* name, std::initializer_list<const char*> values) {
    const nlohmann::json* const found = find(name);
    std::string all;
    for (const char* const value : values) {
        if (found == nullptr || *found == value) return;
        all += (all.empty() ? "" : " or ") + std::string(value);
    }
    refuse(name, all);
}

void ConfigKeys::ignore(std::span<const char* const> names) {
    for (const char* const name : names) read_.insert(name);
}

void ConfigKeys::require_all_read() const {
    const auto unread = [&](const std::string& name, const nlohmann::json& value) {
        return !read_.contains(name) && !says_nothing(value) && !is_note(name);
    };
    for (const char* const name : {"quantization_config", "auto_map"}) {
        const auto found = json_.find(name);
        if (found != json_.end() && unread(name, *found)) refuse(name, "absent");
    }
    for (const auto& [name, value] : json_.items())
        if (unread(name, value))
            throw Error(ErrorKind::config,
                        origin_ + ": " + shown("\"" + name + "\"") + " is " +
                            shown(dump_json(value)) + ", and " + family_ +
                            " as Lockstep calculates it has no such key; remove "
                            "it if it changes nothing, else choose another model");
}

void ConfigKeys::refuse(const std::string& name, const std::string& wanted) const {
    const auto found = json_.find(name);
    const std::string value = found == json_.end() ? "missing" : shown(dump_json(*found));
    throw Error(ErrorKind::config, origin_ + ": \"" + name + "\" is " + value + ", but " + family_ +
                                       " needs " + wanted + "; choose another model");
}

}  // namespace lockstep::model

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>

#include "model/config.hpp"

namespace lockstep::model {

// A key of config.json, the member that has its value, and the default of transformers' class. Of
// `missing` only whether it is 0 counts for members of type Has.
struct ConfigKey {
    using Member = std::variant<std::int64_t ModelConfig::*, float ModelConfig::*,
                                std::int64_t LayerParts::*, float LayerParts::*, Has LayerParts::*>;
    const char* key;
    Member member;
    double missing;
};

// Returns the value of the key's member, a float with its shortest digits.
nlohmann::ordered_json value_of(const ConfigKey& key, const ModelConfig& config);
nlohmann::ordered_json shortest(float value);

// Writes the keys whose members differ between the configs; all without `before`.
void write_keys(std::span<const ConfigKey> keys, const ModelConfig& config,
                const ModelConfig* before, nlohmann::ordered_json& json);

// Reads the keys of a config.json of transformers. One that is missing or null has the default of
// transformers' class. Every key that is read is checked off, so that one that nobody reads can be
// refused. Errors are of kind config and name the file and the key.
class ConfigKeys {
public:
    ConfigKeys(const nlohmann::json& json, std::string family, std::string origin)
        : json_(json), family_(std::move(family)), origin_(std::move(origin)) {}

    // Returns null if the key is missing or null.
    const nlohmann::json* find(const char* name);
    // Tells whether the key is there and null.
    bool is_null(const char* name) const;

    std::int64_t whole(const char* name, std::int64_t missing);
    float share(const char* name, double missing);
    double positive(const char* name, double missing);
    Has flag(const char* name, Has missing);
    void read(const ConfigKey& key, ModelConfig& config);

    // Refuses another value than `only`, which is also the default.
    void require(const char* name, const nlohmann::json& only);
    void require_one_of(const char* name, std::initializer_list<const char*> values);
    // Checks off keys of which no value changes what is calculated.
    void ignore(std::span<const char* const> names);
    // Refuses a key that was not read unless its value says that something is not there.
    void require_all_read() const;

    [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;
    const std::string& origin() const noexcept { return origin_; }
    const std::string& family() const noexcept { return family_; }

private:
    const nlohmann::json& json_;
    const std::string family_, origin_;
    std::set<std::string, std::less<>> read_;
};

}  // namespace lockstep::model

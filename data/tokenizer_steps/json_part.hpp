// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

// One part of a tokenizer's JSON file, such as its normalizer. Everything that is not as it must be
// is a data error "FILE: normalizer/1: what is wrong". The JSON value must outlive the part.
class JsonPart {
public:
    JsonPart(const nlohmann::json& json, std::string file, std::string where);

    bool is_null() const noexcept { return json_->is_null(); }
    bool is_text() const noexcept { return json_->is_string(); }
    // Returns the member "type" of an object.
    std::string type() const;
    // Refuses members other than these and "type".
    void allow(std::initializer_list<std::string_view> names) const;

    // A member that is missing or null is nothing; one of another type is refused.
    std::optional<bool> flag(const char* name) const;
    std::optional<std::string> text(const char* name) const;
    std::optional<std::int64_t> whole(const char* name) const;
    // A member that is missing is null.
    JsonPart member(const char* name) const;
    // The elements of a member that is a list; a member that is missing or null has none.
    std::vector<JsonPart> list(const char* name) const;

    // These refuse a member that is missing, too.
    bool needed_flag(const char* name) const { return needed(flag(name), name); }
    std::string needed_text(const char* name) const { return needed(text(name), name); }
    std::int64_t needed_whole(const char* name) const { return needed(whole(name), name); }

    [[noreturn]] void refuse(const std::string& what) const;
    // Refuses a "type" and names those that are known.
    [[noreturn]] void refuse_type(const char* known) const;

    const nlohmann::json& json() const noexcept { return *json_; }
    const std::string& file() const noexcept { return file_; }
    const std::string& where() const noexcept { return where_; }

private:
    const nlohmann::json* find(const char* name) const;
    template <class T>
    T needed(std::optional<T> value, const char* name) const {
        if (!value) refuse("\"" + std::string(name) + "\" is missing");
        return *std::move(value);
    }

    const nlohmann::json* json_;
    std::string file_, where_;
};

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/json_part.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
JsonPart::JsonPart(const nlohmann::json& json, std::string file, std::string where)
    : json_(&json), file_(std::move(file)), where_(std::move(where)) {}

void JsonPart::refuse(const std::string& what) const {
    throw Error(ErrorKind::data, file_ + ": " + (where_.empty() ? "" : where_ + ": ") + what);
}

void JsonPart::refuse_type(const char* known) const {
    refuse("the type '" + shown(type()) + "' is not supported; supported are " + known);
}

const nlohmann::json* JsonPart::find(const char* name) const {
    if (!json_->is_object()) refuse("it is not an object");
    const auto found = json_->find(name);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::string JsonPart::type() const { return needed_text("type"); }

void JsonPart::allow(std::initializer_list<std::string_view> names) const {
    if (!json_->is_object()) refuse("it is not an object");
    for (const auto& member : json_->items()) {
        const std::string& name = member.key();
        if (name == "type" || std::find(names.begin(), names.end(), name) != names.end()) continue;
        refuse("the member \"" + shown(name) + "\" is not known");
    }
}

std::optional<bool> JsonPart::flag(const char* name) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) refuse("\"" + std::string(name) + "\" is not true or false");
    return value->get<bool>();
}

std::optional<std::string> JsonPart::text(const char* name) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse("\"" + std::string(name) + "\" is not text");
    return value->get<std::string>();
}

std::optional<std::int64_t> JsonPart::whole(const char* name) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_number_integer() &&
                      (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
    if (!fits) refuse("\"" + std::string(name) + "\" is not a whole number");
    return value->get<std::int64_t>();
}

JsonPart JsonPart::member(const char* name) const {
    static const nlohmann::json null_value;
    const nlohmann::json* value = find(name);
    return {value == nullptr ? null_value : *value, file_,
            where_.empty() ? name : where_ + "/" + name};
}

std::vector<JsonPart> JsonPart::list(const char* name) const {
    const nlohmann::json* value = find(name);
    std::vector<JsonPart> parts;
    if (value == nullptr) return parts;
    if (!value->is_array()) refuse("\"" + std::string(name) + "\" is not a list");
    const std::string begin = (where_.empty() ? "" : where_ + "/") + std::string(name) + "/";
    for (std::size_t i = 0; i < value->size(); ++i)
        parts.emplace_back((*value)[i], file_, begin + std::to_string(i));
    return parts;
}

}  // namespace lockstep::data

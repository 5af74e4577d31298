// SPDX-License-Identifier: Apache-2.0
#include "data/templates/json_values.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep::data::jinja {
namespace {

Value number_of(Machine& machine, const nlohmann::ordered_json& json) {
    if (json.is_number_float()) return json.get<double>();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
        machine.fail("a whole number of the data has more than 64 bits");
    return json.get<std::int64_t>();
}

// Many templates make control tokens of roles, as '<|' + message.role + '|>'. The names of the
// usual roles are as harmless as the template's own words.
bool is_usual_role(const std::string& member, const nlohmann::ordered_json& value) {
    constexpr std::array<std::string_view, 9> roles = {"system",    "developer", "user",
                                                       "assistant", "tool",      "function",
                                                       "ipython",   "model",     "observation"};
    return member == "role" && value.is_string() &&
           std::ranges::find(roles, value.get_ref<const std::string&>()) != roles.end();
}

}  // namespace

Value value_of(Machine& machine, const nlohmann::ordered_json& json, unsigned marks) {
    if (json.is_null() || json.is_discarded()) return None{};
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number()) return number_of(machine, json);
    if (json.is_string()) return machine.text(json.get_ref<const std::string&>(), marks);
    const Level level(machine);
    if (json.is_array()) {
        std::vector<Value> items;
        for (const auto& item : json) items.push_back(value_of(machine, item, marks));
        return machine.list(std::move(items));
    }
    auto dict = std::make_shared<Dict>();
    for (const auto& [name, value] : json.items())
        dict->set(std::make_shared<const Text>(name, marks),
                  value_of(machine, value, is_usual_role(name, value) ? unmarked : marks));
    return machine.dict(std::move(dict));
}

}  // namespace lockstep::data::jinja

// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/ordered_json.hpp"

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Builds a value from the events of the parser.
class Builder final : public nlohmann::json_sax<Json> {
public:
    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        Level& level = levels_.back();
        auto& members = level.value->get_ref<Json::object_t&>();
        const auto [found, is_new] = level.places.try_emplace(name, members.size());
        if (is_new) members.emplace_back(name, Json());
        level.member =
            &std::next(members.begin(), static_cast<std::ptrdiff_t>(found->second))->second;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
        return false;
    }

    Json root;

private:
    // Only the innermost value grows, so the values around it keep their addresses.
    struct Level {
        Json* value;
        Json* member = nullptr;  // of an object, whose name was read last
        std::unordered_map<std::string, std::size_t> places;
    };

    Json& put(Json value) {
        if (levels_.empty()) return root = std::move(value);
        Level& level = levels_.back();
        if (level.value->is_object()) return *level.member = std::move(value);
        level.value->push_back(std::move(value));
        return level.value->back();
    }
    bool add(Json value) {
        put(std::move(value));
        return true;
    }
    bool open(Json value) {
        levels_.push_back({&put(std::move(value)), nullptr, {}});
        return true;
    }
    bool close() {
        levels_.pop_back();
        return true;
    }

    std::vector<Level> levels_;
};

}  // namespace

nlohmann::ordered_json try_parse_ordered_json(std::string_view text) {
    Builder builder;
    return Json::sax_parse(text, &builder) ? std::move(builder.root)
                                           : Json(Json::value_t::discarded);
}

}  // namespace lockstep

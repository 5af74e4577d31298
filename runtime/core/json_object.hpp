// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep {

// Names the file that a JSON object is from, in messages.
struct JsonOrigin {
    std::string path;
    std::string remedy;  // follows the message, such as "; prepare the data again"
};

// Reads the members of a JSON object that may be damaged. A member that is missing, of another type
// or out of its range is a data error such as
// `DIR/dataset.json: is damaged: "splits/0/rows" is not a whole number from 0 to 4294967296`.
// `Json` is nlohmann's json or ordered_json. The value and the origin must outlive the object.
//
//     const JsonObject root(json, {path, "; prepare the data again"});
//     info.vocabulary = root.whole<std::int32_t>("vocabulary", {1, 1 << 30});
//     for (const auto& split : root.objects("splits")) ...
template <class Json>
class JsonObject {
public:
    template <class T>
    struct Range {
        T min, max;
    };

    JsonObject(const Json& json, const JsonOrigin& origin, std::string where = "")
        : json_(&json), origin_(&origin), where_(std::move(where)) {
        if (!json.is_object())
            fail(where_.empty() ? "not a JSON object" : "\"" + where_ + "\" is not an object");
    }

    bool has(const char* name) const { return json_->contains(name); }

    template <class T>
    T whole(const char* name, Range<T> range) const {
        return whole_of(at(name), name, range);
    }
    template <class T>
    std::vector<T> wholes(const char* name, Range<T> range) const {
        const Json& list = at(name);
        if (!list.is_array()) refuse(name, "a list");
        std::vector<T> values;
        for (const Json& value : list) values.push_back(whole_of(value, name, range));
        return values;
    }
    std::uint64_t count(const char* name,
                        std::uint64_t max = std::numeric_limits<std::int64_t>::max()) const {
        return whole<std::uint64_t>(name, {0, max});
    }
    double number(const char* name, Range<double> range) const {
        const Json& value = at(name);
        const double found = value.is_number() ? value.template get<double>() : std::nan("");
        if (!(found >= range.min && found <= range.max))
            refuse(name,
                   "a number from " + Json(range.min).dump() + " to " + Json(range.max).dump());
        return found;
    }
    std::string text(const char* name) const {
        const Json& value = at(name);
        if (!value.is_string()) refuse(name, "text");
        return value.template get<std::string>();
    }
    JsonObject object(const char* name) const { return {at(name), *origin_, path_of(name)}; }
    std::vector<JsonObject> objects(const char* name) const {
        const Json& value = at(name);
        if (!value.is_array()) refuse(name, "a list");
        std::vector<JsonObject> all;
        for (std::size_t i = 0; i < value.size(); ++i)
            all.push_back({value[i], *origin_, path_of(name) + "/" + std::to_string(i)});
        return all;
    }
    // Returns a member as it is.
    const Json& at(const char* name) const {
        const auto found = json_->find(name);
        if (found == json_->end()) fail("\"" + path_of(name) + "\" is missing");
        return *found;
    }
    // Says that the member `name` is not what is described by `wanted`.
    [[noreturn]] void refuse(const char* name, const std::string& wanted) const {
        fail("\"" + path_of(name) + "\" is not " + wanted);
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ErrorKind::data, origin_->path + ": is damaged: " + what + origin_->remedy);
    }

private:
    template <class T>
    T whole_of(const Json& value, const char* name, Range<T> range) const {
        const bool inside =
            value.is_number_unsigned()
                ? std::cmp_less_equal(value.template get<std::uint64_t>(), range.max) &&
                      std::cmp_greater_equal(value.template get<std::uint64_t>(), range.min)
                : value.is_number_integer() &&
                      std::cmp_less_equal(value.template get<std::int64_t>(), range.max) &&
                      std::cmp_greater_equal(value.template get<std::int64_t>(), range.min);
        if (!inside)
            refuse(name, "a whole number from " + std::to_string(range.min) + " to " +
                             std::to_string(range.max));
        return value.template get<T>();
    }

    std::string path_of(const char* name) const {
        return where_.empty() ? name : where_ + "/" + name;
    }

    const Json* json_;
    const JsonOrigin* origin_;
    std::string where_;
};

}  // namespace lockstep

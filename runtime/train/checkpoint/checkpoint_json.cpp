// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint_json.hpp"

#include <string_view>

#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::train {

nlohmann::ordered_json read_json(const std::string& path) {
    // Opening a pipe would wait for a writer.
    if (const std::string kind = other_kind(path); !kind.empty())
        throw Error(ErrorKind::data, path + ": is damaged: it is " + kind);
    nlohmann::ordered_json json = try_parse_ordered_json(read_json_text(path));
    if (!json.is_object()) throw Error(ErrorKind::data, path + ": is damaged: not a JSON object");
    return json;
}

std::string json_problem(const nlohmann::json::exception& problem) {
    constexpr int no_such_member = 403;  // "... key 'NAME' not found"
    const std::string_view what = problem.what();
    const std::size_t begin = what.find('\''), end = what.rfind('\'');
    if (problem.id == no_such_member && begin < end)
        return "\"" + std::string(what.substr(begin + 1, end - begin - 1)) + "\" is missing";
    return "a member of it has another type than it must have";
}

}  // namespace lockstep::train

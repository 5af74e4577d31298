// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::train {

// The file's JSON object; throws io errors, and data errors where it is not one.
nlohmann::ordered_json read_json(const std::string& path);

// Calls `action`, which takes values out of the JSON of `path`; a missing or ill-typed one becomes
// a data error that names the file.
template <class Action>
auto from_json_file(const std::string& path, Action action) {
    try {
        return action();
    } catch (const nlohmann::json::exception& problem) {
        // The library puts its own name into brackets first.
        const std::string what = problem.what();
        const std::size_t end = what.find("] ");
        throw Error(ErrorKind::data,
                    path + ": is damaged: " + what.substr(end == std::string::npos ? 0 : end + 2));
    }
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::train {

// Reads the file's JSON object. Throws kind io, or kind data when the file is not a JSON object or
// one that is nested too deeply.
nlohmann::ordered_json read_json(const std::string& path);

// Says in our words what the library found wrong.
std::string json_problem(const nlohmann::json::exception& problem);

// Calls `action`, which reads values from the JSON of `path`. A missing value or one of a wrong
// type throws kind data with the file's name.
template <class Action>
auto from_json_file(const std::string& path, Action action) {
    try {
        return action();
    } catch (const nlohmann::json::exception& problem) {
        throw Error(ErrorKind::data, path + ": is damaged: " + json_problem(problem));
    }
}

}  // namespace lockstep::train

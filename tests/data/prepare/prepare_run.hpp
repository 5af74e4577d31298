// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

#include "data/prepare/prepare.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::tests {

inline data::PrepareReport run_prepare(const data::PrepareOptions& options,
                                       std::string* said = nullptr) {
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    const data::PrepareReport report = data::prepare(options, log);
    if (said) *said = lines.str();
    return report;
}

// Returns what the error says.
inline std::string prepare_error(const data::PrepareOptions& options) {
    try {
        run_prepare(options);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace lockstep::tests

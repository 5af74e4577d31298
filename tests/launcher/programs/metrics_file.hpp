// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

// The lines of that kind of a model folder's metrics.jsonl.
inline std::vector<nlohmann::json> metrics(const std::string& model_folder,
                                           const std::string& kind) {
    std::istringstream lines(read_text(model_folder + "/metrics.jsonl"));
    std::vector<nlohmann::json> found;
    for (std::string line; std::getline(lines, line);) {
        auto object = nlohmann::json::parse(line);
        if (object.value("kind", "train") == kind) found.push_back(std::move(object));
    }
    return found;
}

inline std::vector<nlohmann::json> train_metrics(const std::string& model_folder) {
    return metrics(model_folder, "train");
}

inline std::vector<double> losses(const std::string& model_folder) {
    std::vector<double> values;
    for (const auto& line : train_metrics(model_folder)) values.push_back(line.at("loss"));
    return values;
}

}  // namespace lockstep::tests

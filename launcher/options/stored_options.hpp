// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher {

// Holds what a model folder tells of the options of its run.
struct StoredOptions {
    std::string checkpoint;                     // path
    std::map<std::string, std::string> values;  // every option; none in earlier versions
    std::string lines;                          // those that were given, as a --config file
    std::vector<std::string> data;              // absolute paths of the data; may be empty
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
};

// Returns the stored options of the run that continues; empty for a new run. Rank 0 reads them, and
// the other ranks get them from rank 0.
using StoredSource = std::function<std::optional<StoredOptions>()>;

// Reads them from a checkpoint of the model's folder. Throws kind data if it is damaged.
StoredOptions stored_options(const std::string& model_folder, const std::string& checkpoint);

// Returns the values as JSON holds them; see data::escape_bytes().
std::map<std::string, std::string> escaped(std::map<std::string, std::string> values);

void to_json(nlohmann::json& json, const StoredOptions& stored);
void from_json(const nlohmann::json& json, StoredOptions& stored);

}  // namespace lockstep::launcher

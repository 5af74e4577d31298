// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lockstep::launcher {

// Holds what a checkpoint tells of the options of its run.
struct StoredOptions {
    std::string checkpoint;                     // path
    std::map<std::string, std::string> values;  // every option; none in earlier versions
    std::string lines;                          // those that were given, as a --config file
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
};

// Reads the newest good checkpoint of a model's folder. The result is empty when there is none.
// Throws kind data when all checkpoints are damaged.
std::optional<StoredOptions> stored_options(const std::string& model_folder);

}  // namespace lockstep::launcher

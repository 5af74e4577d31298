// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "runtime/train/loop/trainer_state.hpp"

namespace lockstep::launcher::checkpoints {

// Holds what state.json of a checkpoint tells of its run.
struct StoredRun {
    train::TrainerState trainer;
    std::map<std::string, std::string> state;     // the members of the trainer: "validation.best"
    std::map<std::string, std::string> options;   // by name; none in earlier versions
    std::map<std::string, std::string> versions;  // of programs, device and ranks
};

// Throws kind data if the file is missing or damaged.
StoredRun read_stored_run(const std::string& checkpoint);

// Returns the leaves of a JSON value by their paths, "a.b"; texts without quotes.
std::map<std::string, std::string> leaves(const nlohmann::json& json);

// Returns the time at which the file was last written, "2026-03-01T12:00:00Z"; empty: not known.
std::string written_at(const std::string& path);

// Tells whether `path` is the folder of a checkpoint.
bool is_checkpoint(const std::string& path);

}  // namespace lockstep::launcher::checkpoints

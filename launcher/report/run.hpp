// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/report/history.hpp"
#include "model/config.hpp"

namespace lockstep::launcher::report {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;
// Returns an empty text when no entry has that name.
std::string text_of(const NamedTexts& texts, std::string_view name);

struct Checkpoint {
    std::string name;
    std::int64_t step = 0;
    std::uintmax_t bytes = 0;
    std::string saved;  // UTC
};

// Holds the contents of the newest checkpoint's state.json.
struct SavedState {
    std::int64_t step = 0;
    std::int64_t without_better = 0;  // validations since the best one
    NamedTexts options;               // the given options
    NamedTexts versions;              // lockstep, device, precision, ranks, threads, ...
    std::string ended = {};  // why the run came to its end; empty: it did not, or not known
    NamedTexts parts = {};   // the step after which a part began, and what it changed
};

// Holds the contents of failure.json, see docs/failures.md.
struct Failure {
    std::string report, time, rank, host, cause, phase, step, error;
};

// Holds what report.json tells of the memory that a run has taken.
struct RunMemory {
    std::vector<std::pair<std::string, std::int64_t>> parts;  // as planned; empty: not known
    std::vector<std::int64_t> peaks;                          // of each rank, in its host's memory
    std::vector<std::int64_t> on_gpus = {};                   // of each rank's GPU; empty on CPUs
};

// Holds the contents of a model folder that describe its training run.
struct Run {
    std::string folder;  // the path that the user typed
    model::ModelConfig model;
    NamedTexts config;  // config.json
    std::size_t parameters = 0;
    History history;
    std::string last_line;  // time when it was written, UTC
    std::vector<Checkpoint> checkpoints;
    std::optional<SavedState> saved;
    std::optional<Failure> failure;
    std::optional<RunMemory> memory;  // empty: the run has not come to its end
};

// Reads a run's folder. Throws an error of one line that says what is wrong with the folder. Skips
// files that a run removes or replaces meanwhile.
Run read_run(const std::string& folder, Abscissa abscissa = Abscissa::steps);

}  // namespace lockstep::launcher::report

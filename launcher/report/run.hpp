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
// Empty where there is none of that name.
std::string text_of(const NamedTexts& texts, std::string_view name);

struct Checkpoint {
    std::string name;
    std::int64_t step = 0;
    std::uintmax_t bytes = 0;
    std::string saved;  // UTC
};

// Of the newest checkpoint's state.json.
struct SavedState {
    std::int64_t step = 0;
    std::int64_t without_better = 0;  // validations
    NamedTexts options;               // those that were given
    NamedTexts versions;              // lockstep, device, precision, ranks, threads, ...
};

// failure.json: docs/failures.md.
struct Failure {
    std::string report, time, rank, host, cause, phase, step, error;
};

// What a model folder tells about its training run.
struct Run {
    std::string folder;  // as the user named it
    model::ModelConfig model;
    NamedTexts config;  // config.json
    std::size_t parameters = 0;
    History history;
    std::string last_line;  // when it was written, UTC
    std::vector<Checkpoint> checkpoints;
    std::optional<SavedState> saved;
    std::optional<Failure> failure;
};

// Throws one line that says what is wrong with the folder. What a run removes or replaces
// meanwhile is passed over.
Run read_run(const std::string& folder, Abscissa abscissa = Abscissa::steps);

}  // namespace lockstep::launcher::report

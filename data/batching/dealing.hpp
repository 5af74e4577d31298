// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "data/batching/batch_rules.hpp"

namespace lockstep::data {

// Determines how the rows of a lane become micro-batches.
struct Dealing {
    BatchRules rules;
    std::int64_t window_batches = 1;
};

// Describes the beginning of an epoch whose rules changed because the run was continued with other
// options: part i was dealt by its own rules up to step parts[i].end_step. The run's present rules
// deal the rest, so that each row is used once. Lanes and blocks of rows are the same throughout.
struct DealtEpoch {
    struct Part {
        Dealing dealing;
        std::int64_t end_step = 0;
    };
    std::int64_t epoch = 0;
    std::vector<Part> parts;
};

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/plan/machine.hpp"
#include "launcher/plan/rank_memory.hpp"
#include "model/tensor_core_shapes.hpp"

namespace lockstep::launcher::plan {

// The first epoch's micro-batches, all ranks together.
struct EpochFacts {
    std::int64_t rows = 0, planned_rows = 0, truncated_rows = 0;
    std::int64_t steps = 0, micro_batches = 0;  // micro_batches of the planned rows
    std::int64_t tokens = 0, filler = 0;        // likewise
    std::int64_t shapes = 0;                    // for which work repeats on the device
    BatchMemory largest;                        // of its micro-batches
};

// An option that sizes batches: its name, what was asked for, what would fit.
struct BatchSize {
    std::string option;
    std::int64_t asked = 0, fits = 0;
    std::int64_t most = 0;  // beyond which nothing was tried
};

struct RunPlan {
    model::ModelConfig model;
    std::size_t parameters = 0;
    train::Precision precision = train::Precision::fp32;
    int ranks = 1;
    std::int64_t lanes_of_rank = 1;
    Machine machine;
    BatchMemory batch;  // the largest that the rules can cut
    std::vector<Part> parts;
    std::int64_t host_bytes = 0;  // beside them, where the device has memory of its own
    BatchSize size;
    std::optional<EpochFacts> epoch;  // where there is data
    std::vector<model::SlowShape> slow_shapes;

    std::int64_t total_bytes() const { return total(parts); }
    // What the first epoch takes for certain.
    std::int64_t certain_bytes() const;
    bool fits() const { return total_bytes() <= machine.bytes; }
    bool epoch_fits() const {
        if (!epoch) return false;
        return total_bytes() - batch.activations + epoch->largest.activations <= machine.bytes;
    }
};

// first_epoch: what is needed for certain, quickly told, by no more rows than that takes: the batch
// is the epoch's largest, and nothing larger is looked for.
enum class Scope { whole, first_epoch };

// Reckons by the options and the data's index; allocates none of it. Throws config errors.
RunPlan plan_run(const RunConfig& config, Scope scope = Scope::whole);

}  // namespace lockstep::launcher::plan

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/plan/planned_device.hpp"
#include "launcher/plan/rank_memory.hpp"
#include "model/recompute.hpp"
#include "model/tensor_core_shapes.hpp"

namespace lockstep::launcher::plan {

// Holds totals of the first epoch's micro-batches over all ranks.
struct EpochFacts {
    std::int64_t rows = 0, planned_rows = 0, truncated_rows = 0;
    std::int64_t steps = 0, micro_batches = 0;  // micro_batches: of the planned rows
    std::int64_t tokens = 0, filler = 0;        // totals of the planned rows
    std::int64_t shapes = 0;                    // different shapes of the device's work
    BatchMemory largest;                        // maximum over its micro-batches
    std::int64_t on_every_rank = 0;             // activations that each rank takes for certain
};

// Describes an option that sizes batches: its name, its requested value and the largest value that
// fits.
struct BatchSize {
    std::string option;
    std::int64_t asked = 0, fits = 0;
    std::int64_t max_tried = 0;  // larger values are not tried
};

// Holds the memory of a run at one level of what is calculated again.
struct LevelMemory {
    model::RecomputePlan plan;
    std::int64_t activations = 0, total = 0;
};

// Holds the memory of a rank, and what it sends in a step, at one stage of --zero.
struct StageMemory {
    int stage = 0;
    std::int64_t total = 0, sent = 0;
};

// Bytes of RunPlan::parts on the CPU that a rank may take less of than the one that is planned.
struct VaryingBytes {
    std::int64_t rows_ahead = 0;
    std::int64_t lane_sums = 0;  // the planned rank has the most lanes
    std::int64_t copy = 0;       // without --zero only rank 0 writes checkpoints
    std::int64_t replies = 0;    // only while replies are generated
};

struct RunPlan {
    model::ModelConfig model;
    std::size_t parameters = 0;
    train::Precision precision = train::Precision::fp32;
    int ranks = 1;
    std::int64_t lanes_of_rank = 1;
    PlannedDevice device;
    BatchMemory batch;           // the largest that the rules can form
    std::int64_t evaluated = 0;  // activations of an evaluation's largest one; 0: a quick plan
    bool evaluates_otherwise = false;  // evaluations have a batch size of their own
    std::vector<Part> parts;
    train::Moments moments = train::Moments::fp32;
    model::RecomputePlan recompute;  // as the option says, or the choice of auto
    train::Saving saving = train::Saving::beside_training;
    train::Offload offload = train::Offload::none;
    bool fitted = false;              // --fit auto chose these four and the stage
    std::string tried;                // the options that it chose from; empty unless `fitted`
    std::string command;              // of the training run; empty unless `fitted`
    std::vector<LevelMemory> levels;  // none, ffn, layer and that one; empty: a quick plan
    train::StepTraffic sent;          // by a rank in a step
    train::PipelineStage pipeline;    // the one that needs the most
    int stage = 0;                    // of --zero
    std::vector<StageMemory> stages;  // empty: one rank, adafactor or a quick plan
    std::int64_t host_bytes = 0;      // extra host memory when the device has its own
    std::int64_t pinned_bytes = 0;    // more of it, which --offload optimizer pins
    std::int64_t disk_bytes = 0;      // that --offload-dir takes for each rank
    VaryingBytes varying;
    BatchSize size;
    std::optional<EpochFacts> epoch;  // empty: there is no data
    std::vector<model::SlowShape> slow_shapes;

    std::int64_t total_bytes() const { return total(parts); }
    // Returns the bytes that the first epoch takes for certain.
    std::int64_t certain_bytes() const;
    // Returns the name of the first of `levels` with which the run fits, or an empty text.
    std::string fitting_level() const;
    bool fits() const { return total_bytes() <= device.bytes; }
    // Tells whether what is free at this moment is enough, as far as that is known.
    bool fits_now() const {
        return device.free_bytes == unlimited || total_bytes() <= device.free_bytes;
    }
    bool epoch_fits() const {
        if (!epoch) return false;
        const std::int64_t certain = std::max(epoch->largest.activations, evaluated);
        return total_bytes() - batch.activations + certain <= device.bytes;
    }
};

// first_epoch plans quickly: it reads only as many rows as necessary, `batch` is the epoch's
// largest, no larger batch is searched for, no levels are compared, and certain_bytes() is the
// result.
enum class Scope { whole, first_epoch };

// Returns the options of a run whose model is known, so that no folder says which it is. Ranks on
// other hosts may not see the folder of rank 0.
RunConfig with_model(RunConfig config, const model::ModelConfig& model);

// Calculates the plan from the options and the data's index, without allocating the memory that it
// plans. Throws config errors.
// There may be more ranks than lanes, as in a run that goes on; check_lanes() refuses a new one.
RunPlan plan_run(const RunConfig& config, Scope scope = Scope::whole);

}  // namespace lockstep::launcher::plan

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/devices/dry_model.hpp"
#include "model/recompute.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameter_table.hpp"
#include "runtime/train/reduction/step_traffic.hpp"
#include "runtime/train/step/dry_step.hpp"

namespace lockstep::launcher::plan {

// Tells whether validations generate replies.
enum class Replies { none, generated };

// A run whose memory is calculated. It contains everything except the batches.
struct PlannedRun {
    model::ModelConfig model;
    train::TrainOptions train;
    train::Precision precision = train::Precision::fp32;
    train::Master master = train::Master::kept;
    model::DeviceKind device = model::DeviceKind::cpu;
    int ranks = 1;  // that read rows of their own; of ranks_of_place(train) ranks each
    comm::GpuBackend backend = comm::GpuBackend::nccl;  // among several GPUs
    model::RecomputePlan recompute = {};
    Replies replies = Replies::none;
    train::PipelineStage stage = {};  // of the rank
};

// The memory in bytes that a micro-batch adds.
struct BatchMemory {
    train::BatchShape shape;       // the shape with the most activations
    std::int64_t activations = 0;  // at their peak
    std::int64_t arrays = 0;       // batches on their way to the GPU; on the CPU they count as rows
    std::int64_t scratch = 0;      // scratch memory of a GPU's kernels
};

// Returns the one with more activations. The scratch memory is always training's, which needs more.
BatchMemory larger(const BatchMemory& trained, const BatchMemory& evaluated);

enum class Known { exactly, about };

struct Part {
    std::string name;
    std::int64_t bytes = 0;
    Known known = Known::exactly;
};
std::int64_t total(const std::vector<Part>& parts);

// Calculates the memory of one rank on its device.
class RankMemory {
public:
    explicit RankMemory(const PlannedRun& run);

    std::size_t parameters() const noexcept { return table_.count(); }
    const train::PipelineStage& stage() const noexcept { return run_.stage; }

    // Return the maximum memory that any of the shapes needs.
    BatchMemory training(const std::vector<train::BatchShape>& shapes) const;
    BatchMemory evaluation(const std::vector<train::BatchShape>& shapes) const;

    // Returns the multiplications of linear layers in training on a micro-batch.
    double multiply_adds(const train::BatchShape& shape) const {
        return dry_->multiply_adds(shape);
    }

    // Returns the shape that launches use for this one: shapes are rounded up so that graphs
    // repeat.
    train::BatchShape launched(const train::BatchShape& shape) const;

    // Returns the parts of the memory. rows_bytes is the size of the rows that are being sorted and
    // cut into batches.
    std::vector<Part> parts(const BatchMemory& batch, std::int64_t rows_bytes) const;
    // Returns the extra host memory when the device has its own: the copy that checkpoints are
    // written from.
    std::int64_t host_bytes() const;
    // Returns the copy that checkpoints are written from, wherever it is.
    std::int64_t copy_bytes() const;
    std::int64_t lane_sum_bytes() const noexcept {
        return static_cast<std::int64_t>(weights_.lane_sums);
    }
    std::int64_t reply_bytes() const;  // weights that only replies need
    // Returns the pinned host memory that --offload optimizer takes.
    std::int64_t pinned_bytes() const;
    std::int64_t disk_bytes() const;  // of --offload-dir
    // Returns the bytes that the rank that sends the most sends to others in a step, whose
    // micro-batches have this shape.
    train::StepTraffic traffic(const train::BatchShape& shape) const;

private:
    std::int64_t narrow_sum_bytes() const;
    std::int64_t memory_bias_bytes() const;
    std::int64_t all_nccl_bytes() const;
    bool adds_in_order() const noexcept;
    // Tells whether every micro-batch of the first rank overwrites the gradients, in flat memory.
    bool each_overwrites() const noexcept;

    const PlannedRun run_;
    const train::ParameterTable table_;
    std::unique_ptr<model::DryModel> dry_;
    train::WeightMemory weights_;  // of the rank that keeps the most
};

}  // namespace lockstep::launcher::plan

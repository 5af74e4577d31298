// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/devices/dry_model.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/step/weight_memory.hpp"

namespace lockstep::launcher::plan {

// A run of which the memory is reckoned, all but its batches.
struct PlannedRun {
    model::ModelConfig model;
    train::TrainOptions train;
    train::Precision precision = train::Precision::fp32;
    train::Master master = train::Master::kept;
    model::DeviceKind device = model::DeviceKind::cpu;
    int ranks = 1;
    comm::GpuBackend backend = comm::GpuBackend::nccl;  // among several GPUs
};

// What a micro-batch adds.
struct BatchMemory {
    train::BatchShape shape;       // the one with the most activations
    std::int64_t activations = 0;  // at their peak
    std::int64_t arrays = 0;       // batches on their way to the GPU; on the CPU they are the rows'
    std::int64_t scratch = 0;      // of a GPU's kernels
};

// The one with more activations; scratch memory is training's, which needs the most.
BatchMemory larger(const BatchMemory& trained, const BatchMemory& evaluated);

enum class Known { exactly, about };

struct Part {
    std::string name;
    std::int64_t bytes = 0;
    Known known = Known::exactly;
};
std::int64_t total(const std::vector<Part>& parts);

// The memory of one rank on its device.
class RankMemory {
public:
    explicit RankMemory(const PlannedRun& run);

    std::size_t parameters() const noexcept { return table_.count(); }

    // Of the worst of these.
    BatchMemory training(const std::vector<train::BatchShape>& shapes) const;
    BatchMemory evaluation(const std::vector<train::BatchShape>& shapes) const;

    // A shape as the device's work repeats for it.
    train::BatchShape launched(const train::BatchShape& shape) const;

    // What takes it, with rows_bytes of rows being sorted and cut into batches.
    std::vector<Part> parts(const BatchMemory& batch, std::int64_t rows_bytes) const;
    // Beside it in the host's memory, where the device's is another: what checkpoints are made of.
    std::int64_t host_bytes() const;

private:
    train::WeightMemory weight_memory() const;

    const PlannedRun run_;
    const train::ParameterTable table_;
    const std::unique_ptr<model::DryModel> dry_;
};

}  // namespace lockstep::launcher::plan

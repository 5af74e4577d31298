// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/config.hpp"
#include "model/recompute.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/precision.hpp"
#include "runtime/train/step/dry_step.hpp"

namespace lockstep::model {

// Names the device that a model is meant for. It need not exist to estimate the memory.
enum class DeviceKind { cpu, gpu };

// Goes through a step of a model without computing it, to find the device memory that the step
// needs, and what a rank sends. The memory is exact to the byte if gradients are not padded
// (docs/memory.md).
class DryModel {
public:
    virtual ~DryModel() = default;

    // Returns the peak size of activations and their gradients over forward and backward of a
    // micro-batch, without those that lie in the memory of gradients. On a CPU some lie there if
    // `into` is overwrite. Give Into::add for gradients in slots, where no activations lie. A stage
    // of a pipeline keeps some of a step's `micro_batches` at once.
    virtual std::size_t training_bytes(const train::BatchShape& shape,
                                       kernels::Into into = kernels::Into::overwrite,
                                       std::int64_t micro_batches = 1) = 0;
    // Returns the multiplications of the linear layers' products in training on a micro-batch, with
    // what backward calculates again.
    virtual double multiply_adds(const train::BatchShape& shape) = 0;
    virtual std::size_t evaluation_bytes(const train::BatchShape& shape) = 0;
    // Returns the sizes that the work is launched with: two shapes with equal launch sizes are the
    // same work.
    virtual train::BatchShape launched(const train::BatchShape& shape) const = 0;
    // Returns the bytes that are used from the first step to the last besides the weights, such as
    // positions that are not learned.
    virtual std::size_t constant_bytes() const = 0;
    // Returns the bytes of the weights that adapters are added to; without adapters 0.
    virtual std::size_t frozen_bytes() const = 0;
    // Returns the bytes of a GPU's memory that kernels share: the maximum of cuBLASLt's workspace
    // and the scratch memory of attention's backward with Lockstep's own kernels.
    virtual std::size_t scratch_bytes(const train::BatchShape& shape) const = 0;
    // Returns the bytes of a micro-batch's own arrays. A GPU holds several micro-batches.
    virtual std::size_t batch_bytes(const train::BatchShape& shape) = 0;
    // Goes through a step of one rank of a run with the options, which have its number of lanes.
    // Ranks are those that read rows of their own.
    // Micro-batches are as small as they can be: neither the memory nor the bytes of buckets and
    // weights depend on them.
    virtual train::DryStep step(const train::TrainOptions& options, train::Master master,
                                const train::DryRank& place) = 0;
    // Returns the bytes that the rank sends to the other tensor ranks in training on a micro-batch,
    // every collective around a ring, or to the stages beside it.
    virtual std::int64_t row_bytes(const train::BatchShape& shape) = 0;
};

// Throws kind config if the device cannot compute the model. A rank that divides the layers with
// others has a slice, and one that has some of them a stage.
std::unique_ptr<DryModel> make_dry_model(const ModelConfig& config, train::Precision precision,
                                         DeviceKind device, const RecomputePlan& plan = {},
                                         const train::TensorSlice& slice = {},
                                         const train::PipelineStage& stage = {});

}  // namespace lockstep::model

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/train/precision.hpp"

namespace lockstep::model {

// Where a model is to compute; neither need be there to reckon what it would take.
enum class DeviceKind { cpu, gpu };

// A model that goes through a step without computing it, to tell what it takes of a device's memory
// to the byte. Weights, gradients and optimizer are apart (train/weight_memory.hpp).
class DryModel {
public:
    virtual ~DryModel() = default;

    // Activations and their gradients at their peak, over forward and backward of a micro-batch.
    virtual std::size_t training_bytes(const train::BatchShape& shape) = 0;
    virtual std::size_t evaluation_bytes(const train::BatchShape& shape) = 0;
    // The sizes that its work is launched with: shapes alike in these are the same work.
    virtual train::BatchShape launched(const train::BatchShape& shape) const = 0;
    // What is there from the first step to the last beside the weights: positions that are not
    // learned.
    virtual std::size_t constant_bytes() const = 0;
    // What kernels share of a GPU's memory: cuBLASLt's workspace, or what attention's backward
    // needs where own kernels compute it, if that is more.
    virtual std::size_t scratch_bytes(const train::BatchShape& shape) const = 0;
    // A micro-batch's own arrays, of which a GPU holds several.
    virtual std::size_t batch_bytes(const train::BatchShape& shape) = 0;
};

std::unique_ptr<DryModel> make_dry_model(const ModelConfig& config, train::Precision precision,
                                         DeviceKind device);

}  // namespace lockstep::model

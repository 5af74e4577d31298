// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/step/checkpoint_tensors_view.hpp"
#include "runtime/train/step/reduction_timing.hpp"

namespace lockstep::train {

// One step when it is over. Seconds are this rank's.
struct StepResult {
    kernels::Step step;
    ReductionTiming reduction;
    double forward_s = 0, backward_s = 0, optimizer_s = 0;
};

// A model and its optimizer on one device, as the trainer sees them. A step is this rank's
// micro-batches, the reduction, and the update; the gradient is that of the loss sum over all lanes
// and ranks, divided once, in the update, by its token count.
class Engine {
public:
    virtual ~Engine() = default;

    virtual const ParameterTable& parameters() const noexcept = 0;

    // The run's tensors in host memory as they are now, valid until the next call of the engine.
    virtual RunTensors fetch() = 0;
    // The run's tensors become what was written into those of fetch().
    virtual void place() = 0;
    // Rank 0's weights and optimizer memory become everyone's. Collective.
    virtual void share_weights() = 0;
    virtual void share_optimizer() = 0;
    // Queues a hash of the weights, behind all that is queued.
    virtual void hash_weights() = 0;
    // Waits for the hash that was queued and compares it over all ranks; throws on every rank,
    // naming those that differ from the majority. Collective.
    virtual void check_weights_alike(std::int64_t updates) = 0;

    // What the next step goes on from; before the first one.
    virtual void restore(const kernels::Step& before) = 0;
    // How many steps may be queued before the first one's result is asked for.
    virtual std::size_t steps_ahead() const noexcept = 0;
    // A step with a micro-batch from each of this rank's lanes, some of them empty. The batches may
    // be gone when it returns.
    virtual void queue(const kernels::StepOrder& order, const std::vector<Batch>& lanes) = 0;
    // Of the oldest step not asked about; waits for it.
    virtual StepResult take_result() = 0;
    // The first parameter whose gradient is not finite now; empty: none.
    virtual std::string nonfinite_gradient() = 0;
};

}  // namespace lockstep::train

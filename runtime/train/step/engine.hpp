// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/train/forward_backward.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/reduction/reduction_timing.hpp"
#include "runtime/train/sharing/run_tensors.hpp"
#include "runtime/train/step/weight_memory.hpp"

namespace lockstep::train {

// What a rank sent to those among which the model is divided, and how long that took. All of it is
// waited for at once.
struct Exchanges {
    std::int64_t bytes = 0;
    double seconds = 0;
};

// Holds the result of one finished step. Seconds are this rank's.
struct StepResult {
    kernels::Step step;
    ReductionTiming reduction;
    double forward_s = 0, backward_s = 0, optimizer_s = 0;  // without waits for other ranks
    Exchanges tensor, pipeline;  // among the ranks that compute each layer together; among stages
};

// Trains a model with its optimizer on one device; this is the trainer's view of them. A step
// consists of this rank's micro-batches, the reduction and the update. The gradient is that of the
// loss sum over all lanes and ranks; the update divides it once by the token count.
class Engine {
public:
    virtual ~Engine() = default;

    virtual const ParameterTable& parameters() const noexcept = 0;

    // Returns the run's current tensors in host memory. They are valid until the next call of the
    // engine. If ranks share a replica, they are memory for the values of a checkpoint: those of
    // the optimizer are not the run's, nor are weights whose master is shared, and only rank 0's
    // count. Only before share_weights() and share_optimizer().
    virtual RunTensors fetch() = 0;
    // Returns a copy of the tensors in host memory, which steps do not change. It is valid until
    // the next call of copy_for_save() or fetch(). Its memory is taken at the first call, unless
    // reserve_copy() has taken it. If ranks share a replica, the call is collective, and only rank
    // 0 gets the tensors.
    virtual RunTensors copy_for_save() = 0;
    // Takes the memory of the copy, with all its pages, and returns the tensors in it, which have
    // no values yet. Another thread may call it while steps run, but not during any other call that
    // returns tensors.
    virtual RunTensors reserve_copy() = 0;
    // Copies the values written into fetch()'s tensors back to the run.
    virtual void write_back() = 0;
    // Returns this rank's own part of the tensors; null if ranks do not share a replica. Use it
    // where fetch(), write_back() and copy_for_save() would take the memory of the whole on rank 0.
    virtual OwnedAccess* owned() noexcept = 0;
    // Waits for the weights that other ranks have updated. Call it before weights are read
    // otherwise than by steps.
    virtual void finish_weights() = 0;
    // Returns what an evaluation gets its weights from, between two steps. If ranks share the
    // weights, each makes as many evaluations as the others until the next step.
    virtual WeightSource& weights() = 0;
    // Copies rank 0's weights or optimizer state to all ranks, which keep their parts of them. What
    // write_back() has written on rank 0 must not be older than its last step. If owned() was
    // written back, on all ranks, that counts instead. The calls are collective.
    virtual void share_weights() = 0;
    virtual void share_optimizer() = 0;
    // Queues a hash of the weights after all queued work.
    virtual void hash_weights() = 0;
    // Waits for the queued hash and compares it over all ranks. Throws on every rank, naming the
    // ranks that differ from the majority. The call is collective.
    virtual void check_weights_alike(std::int64_t updates) = 0;

    // Sets the state that the first step continues from, and the number of lanes of the run. Call
    // it before the first step. Throws kind config if the device cannot add the lanes in the order
    // that the options ask for.
    virtual void restore(const kernels::Step& before, std::int64_t lanes) = 0;
    // Returns the number of steps that may be queued before the first one's result is taken.
    virtual std::size_t steps_ahead() const noexcept = 0;
    // Queues a step with one micro-batch from each of this rank's lanes; some may be empty. The
    // caller may free the batches when it returns.
    virtual void queue(const kernels::StepOrder& order, const std::vector<Batch>& lanes) = 0;
    // Waits for the oldest step whose result has not been taken, and returns the result.
    virtual StepResult take_result() = 0;
    // Returns the memory that the engine and its store hold now. A step of a tied table in parts
    // takes some of it when it first runs.
    virtual WeightMemory memory() const = 0;
    // Returns the name of the first parameter whose gradient is not finite now; empty if all are
    // finite.
    virtual std::string nonfinite_gradient() = 0;
};

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/whereabouts.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/gradient_reducer.hpp"
#include "runtime/train/model.hpp"
#include "runtime/train/optimizer.hpp"
#include "runtime/train/schedule.hpp"
#include "runtime/train/step_source.hpp"
#include "runtime/train/step_vector.hpp"
#include "runtime/train/training_events.hpp"

namespace lockstep::train {

// What a step works on; all of it is borrowed.
struct StepParts {
    device::CpuContext& context;
    comm::Communicator& communicator;
    Trace& trace;
    Model& model;
    const ParameterStore<HostSpace>& store;
    Optimizer& optimizer;
    comm::Whereabouts* whereabouts = nullptr;  // none: nobody watches
};

// One step of all ranks: this rank's micro-batches, the reduction, the update. The gradient is that
// of the loss sum over all lanes and ranks, divided once, in the update, by its token count.
class TrainStep {
public:
    TrainStep(const TrainOptions& options, StepParts parts);

    struct Result {
        StepReport report;  // without what concerns the run: epoch, seconds, data_s
        StepVector totals;
    };
    // `local` comes with what the caller has to tell the other ranks. Advances the counters of
    // `state`. Throws a numeric error on all ranks when too many steps in a row were not finite.
    Result take(const std::vector<Batch>& lanes, const Schedule& schedule, StepVector local,
                TrainerState& state);

private:
    void prepare(const Schedule& schedule, const TrainerState& state);
    void accumulate(const std::vector<Batch>& lanes, StepVector& local);
    Outcome outcome(const StepVector& totals, const Reduction& reduction) const;
    void update(double tokens, StepReport& report, TrainerState& state);
    [[noreturn]] void throw_not_finite(const TrainerState& state, const StepVector& totals);

    StepParts parts_;
    double gradient_clip_;
    GradientReducer reducer_;
    kernels::StepState step_state_;
};

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/kernels/step.hpp"
#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/reduction/step_traffic.hpp"

namespace lockstep::train {

// A signal handler, for example, sets this flag to end the run. It is read once a step, and between
// the batches of a validation.
using StopFlag = std::atomic<bool>;
static_assert(StopFlag::is_always_lock_free, "a signal handler sets it");

using Outcome = kernels::StepOutcome;  // updated, or the reason for skipping

// Reports one step. Sums are over all lanes and ranks; seconds and memory are this rank's.
struct StepReport {
    std::int64_t step = 0, updates = 0;  // including this one
    double epoch = 0;                    // including the fraction
    Outcome outcome = Outcome::updated;

    double loss = 0;  // per token, with label smoothing
    double ppl = 0;   // exp(negative log-likelihood per token)
    double token_acc = 0;
    double tokens = 0, rows = 0, truncated_rows = 0;
    double tokens_per_s = 0;
    std::int64_t lanes = 0;  // lanes that gave rows in this step

    double lr = 0;
    double gnorm = 0;                  // norm of the mean gradient before clipping
    double clipped = 0;                // 1 if it was clipped; the mean over steps is the clip share
    std::optional<double> loss_scale;  // scale of this step; fp16 only

    double seconds = 0;  // time since the end of the previous step
    double data_s = 0, forward_s = 0, backward_s = 0, optimizer_s = 0;
    double communication_s = 0;              // time spent waiting for communication
    double bucket_s = 0, last_bucket_s = 0;  // time of all buckets; of the last one (tied table)
    double bucket_blocked_s = 0;             // part of communication_s up to the last bucket
    std::optional<double> hidden_share;      // share of bucket_s (ReductionTiming); empty: one rank
    // Of bucket_s and bucket_blocked_s: the gathers of weights, if ranks share what they keep.
    double weights_s = 0, weights_blocked_s = 0;
    // Of bucket_s: sums among the ranks that share a replica, and sums between replicas.
    double gradients_s = 0, gradients_blocked_s = 0, replicas_s = 0, replicas_blocked_s = 0;
    double tensor_s = 0, pipeline_s = 0;  // exchanges among tensor ranks and among stages
    StepTraffic sent;
    std::uint64_t peak_memory_bytes = 0;
};

struct ValidationReport {
    std::string split = "valid";
    std::map<std::string, double> metrics;  // at least loss, ppl, token_acc; the same on all ranks
    double seconds = 0;

    // The trainer fills in the members below.
    std::int64_t step = 0, updates = 0;
    double epoch = 0;
    bool best = false;
};

// Receives the events of the run, on every rank.
class TrainingObserver {
public:
    virtual ~TrainingObserver() = default;

    virtual void on_step(const StepReport&) {}
    virtual void on_validation(const ValidationReport&) {}
    // Reports the final weights after the run has ended, once for each split.
    virtual void on_final(const ValidationReport&) {}
    // `epoch` is the number of complete epochs.
    virtual void on_epoch(std::int64_t /*epoch*/) {}
};

enum class CheckpointKind { latest, best };

// Saves weights, optimizer and `state` on request. Every rank calls it between the same two steps.
// A save may go on while training does.
class CheckpointSink {
public:
    virtual ~CheckpointSink() = default;
    virtual void save(CheckpointKind kind, const TrainerState& state) = 0;
    // Tells whether this rank has written its part of a save that goes on once all ranks have.
    virtual bool part_is_written() const { return false; }
    // Goes on with that save. Every rank calls it between the same two steps, when
    // part_is_written() was true on all of them.
    virtual void parts_are_written() {}
    // Throws an error that ended a save, if there is one already.
    virtual void check() {}
    // Waits for the saves. Throws when the last one failed, so that a run does not end as if it
    // were saved.
    virtual void finish() {}
};

// Evaluates the current weights. Every rank calls it at the same step and gets the same result. The
// result is empty if `stop` was set on any rank before the end: the evaluation is then abandoned.
class Validator {
public:
    virtual ~Validator() = default;
    virtual std::optional<ValidationReport> evaluate(const StopFlag& stop) = 0;
};

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/kernels/step.hpp"
#include "runtime/train/loop/trainer_state.hpp"

namespace lockstep::train {

// Set by whoever wants the run to end (a signal handler, say); read once a step.
using StopFlag = std::atomic<bool>;
static_assert(StopFlag::is_always_lock_free, "a signal handler sets it");

enum class ExitReason {
    epochs_done,
    steps_done,
    time_over,
    patience_over,
    cutoff_reached,
    stop_requested
};

// "the number of epochs is reached"
std::string_view describe(ExitReason reason) noexcept;

using Outcome = kernels::StepOutcome;  // updated, or why not

// One step. Sums are over all lanes and ranks; seconds and memory are this rank's.
struct StepReport {
    std::int64_t step = 0, updates = 0;  // including this one
    double epoch = 0;                    // with the fraction
    Outcome outcome = Outcome::updated;

    double loss = 0;  // per token, with label smoothing
    double ppl = 0;   // exp(negative log-likelihood per token)
    double token_acc = 0;
    double tokens = 0, rows = 0, truncated_rows = 0;
    double tokens_per_s = 0;
    std::int64_t lanes = 0;  // that gave rows in this step

    double lr = 0;
    double gnorm = 0;    // of the mean gradient, before clipping
    double clipped = 0;  // 1 when it was clipped; its mean over steps is the clip share
    std::optional<double> loss_scale;  // of this step; fp16 only

    double seconds = 0;  // of the step, since the end of the last one's
    double data_s = 0, forward_s = 0, backward_s = 0, optimizer_s = 0;
    double communication_s = 0;              // not hidden: waiting for it
    double bucket_s = 0, last_bucket_s = 0;  // what the buckets took; the last one's (tied table)
    double bucket_blocked_s = 0;         // of communication_s, until the last bucket was reduced
    std::optional<double> hidden_share;  // of bucket_s: see ReductionTiming; empty of one rank
    std::uint64_t peak_memory_bytes = 0;
};

struct ValidationReport {
    std::string split = "valid";
    std::map<std::string, double> metrics;  // at least loss, ppl, token_acc; alike on all ranks
    double seconds = 0;

    // Filled in by the trainer.
    std::int64_t step = 0, updates = 0;
    double epoch = 0;
    bool best = false;
};

// Told what happens, on every rank.
class TrainingObserver {
public:
    virtual ~TrainingObserver() = default;

    virtual void on_step(const StepReport&) {}
    virtual void on_validation(const ValidationReport&) {}
    // Of the weights that the run leaves, when it has ended; once for each split.
    virtual void on_final(const ValidationReport&) {}
    // `epoch` epochs are complete.
    virtual void on_epoch(std::int64_t /*epoch*/) {}
};

enum class CheckpointKind { latest, best };

// Asked to save weights, optimizer and `state`: on every rank, between two steps, alike.
class CheckpointSink {
public:
    virtual ~CheckpointSink() = default;
    virtual void save(CheckpointKind kind, const TrainerState& state) = 0;
};

// Evaluates the current weights: on every rank at the same step, with the same result.
class Validator {
public:
    virtual ~Validator() = default;
    virtual ValidationReport evaluate() = 0;
};

}  // namespace lockstep::train

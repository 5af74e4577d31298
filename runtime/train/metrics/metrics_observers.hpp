// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/train/loop/training_events.hpp"

namespace lockstep::train {

// Passes events on to several observers, in order. The observers must outlive it.
class ObserverList final : public TrainingObserver {
public:
    void add(TrainingObserver& observer) { observers_.push_back(&observer); }

    void on_step(const StepReport& report) override;
    void on_validation(const ValidationReport& report) override;
    void on_final(const ValidationReport& report) override;
    void on_epoch(std::int64_t epoch) override;

private:
    std::vector<TrainingObserver*> observers_;
};

// Combines several steps into one report: sums of counts and seconds, token-weighted means of loss
// and accuracy, means of the norm, and the last step's values for the rest. The report counts as
// skipped if no step updated.
class StepSummary {
public:
    void add(const StepReport& report);
    bool empty() const noexcept { return steps_ == 0; }
    StepReport report() const;

private:
    StepReport sum_;  // sums of additive members; the others are the last step's
    std::int64_t steps_ = 0, updated_ = 0;
    double loss_ = 0, nll_ = 0, correct_ = 0;  // sums over tokens
    double gnorm_ = 0, clipped_ = 0;           // sums over updated steps
};

// Passes on a summary of the steps since the last one. It does so when `every_n_steps` divides the
// step number, so that a continued run reports at the same steps, or when the steps took
// `every_n_secs`; <= 0 turns either off. Pending steps are passed on before a validation and by
// flush(), which the end of a run must call.
class SummarisedSteps final : public TrainingObserver {
public:
    SummarisedSteps(TrainingObserver& next, std::int64_t every_n_steps, double every_n_secs)
        : next_(next), every_n_steps_(every_n_steps), every_n_secs_(every_n_secs) {}

    void on_step(const StepReport& report) override;
    void on_validation(const ValidationReport& report) override;
    void on_final(const ValidationReport& report) override;
    void on_epoch(std::int64_t epoch) override;
    void flush();

private:
    TrainingObserver& next_;
    std::int64_t every_n_steps_;
    double every_n_secs_;
    StepSummary summary_;
    double seconds_ = 0;
};

}  // namespace lockstep::train

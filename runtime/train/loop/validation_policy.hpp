// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/loop/epoch_share.hpp"
#include "runtime/train/loop/exit_reason.hpp"
#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::train {

// Decides when to validate and what a validation's result means for the run.
class ValidationPolicy {
public:
    explicit ValidationPolicy(const ValidationOptions& options);

    // Tells whether any option asks for validations.
    bool on() const noexcept;
    // Tells whether a validation is due. By epochs the k-th one is due where k shares of
    // every_n_epochs are complete, also if one of another kind came between.
    bool due(const TrainerState& state, std::int64_t rows_per_epoch,
             double since_validation_s) const noexcept;

    // Returns the deciding metric. Throws kind config with the names of the available metrics when
    // it is missing.
    double metric(const ValidationReport& report) const;
    // Tells whether `value` is better than the best one. A NaN is never better.
    bool better(double value, const ValidationState& state) const noexcept;
    // Records a validation at `trainer`'s current update and epoch, and returns verdict().
    std::optional<ExitReason> judge(double value, TrainerState& trainer) const noexcept;
    // Returns why the last validation ends the run, or nothing. Without an option that asks for
    // validations none does.
    std::optional<ExitReason> verdict(const ValidationState& state) const noexcept;

private:
    bool due_by_epochs(const TrainerState& state, std::int64_t rows_per_epoch) const noexcept;
    bool at_least_as_good(double value, double than) const noexcept;

    ValidationOptions options_;
    EpochShare every_n_epochs_;
    Direction direction_;
};

}  // namespace lockstep::train

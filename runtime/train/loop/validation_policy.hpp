// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::train {

// When to validate, and what a validation's result means for the run.
class ValidationPolicy {
public:
    enum class Verdict { go_on, patience_over, cutoff_reached };

    explicit ValidationPolicy(const ValidationOptions& options);

    // Whether any option asks for validations.
    bool on() const noexcept;
    bool due(const TrainerState& state, double since_validation_s) const noexcept;

    // The metric that decides; a config error naming the metrics there are when it is missing.
    double metric(const ValidationReport& report) const;
    // A value that is not a number is never better.
    bool better(double value, const ValidationState& state) const noexcept;
    // Takes note of a validation at `trainer`'s place.
    Verdict judge(double value, TrainerState& trainer) const noexcept;

private:
    bool at_least_as_good(double value, double than) const noexcept;

    ValidationOptions options_;
    Direction direction_;
};

}  // namespace lockstep::train

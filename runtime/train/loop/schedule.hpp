// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::train {

// Calculates the learning rate of every update. With W warm-up updates and r = warmup_rate, update
// u (from 0) has the rate lr * (r + (1 - r) * u / W) for u < W. After the warm-up let s = u - W; in
// a run of T updates let L = T - W. The rate is then:
//       none             lr
//       linear           lr * max(0, 1 - s / L)
//       cosine           lr * (1 + cos(pi * min(1, s / L))) / 2
//       wsd              lr, in the last D updates lr * (1 + cos(pi * min(1, (s - L + D) / D))) / 2
//                        with D = decay_ratio * T, rounded up, at least 1
//       invsqrt          lr * sqrt(max(1, gamma) / max(1, gamma + s)), gamma by default W
//       fixed            lr, times lr_scheduler_decay after every lr_scheduler_patience validations
//       reduceonplateau  lr, times lr_scheduler_decay once more than lr_scheduler_patience
//                        validations in a row were not better than the best loss by a relative
//                        1e-4, unless the rate would fall by at most 1e-8
// Validations during the warm-up do not count. The definitions are ParlAI's with two exceptions:
// ParlAI's cosine is a quarter of a wave, whereas this is the cosine of torch and transformers, and
// ParlAI counts s from 1 after a warm-up, so that no update has the full rate.
class Schedule {
public:
    // run_updates is T; it is <= 0 when the run has no such limit. Throws kind config naming the
    // option that is wrong or missing.
    Schedule(const ScheduleOptions& options, double learningrate, std::int64_t run_updates);

    // Returns the rate of the update that follows `updates` updates.
    double rate(std::int64_t updates) const noexcept;
    void validated(std::int64_t updates, double loss) noexcept;

    // Returns the updates of a wsd schedule that warm up, are stable, and fall.
    struct Phases {
        std::int64_t warmup = 0, stable = 0, fall = 0;
    };
    Phases phases() const noexcept;

    const ScheduleState& state() const noexcept { return state_; }
    void restore(const ScheduleState& state) noexcept { state_ = state; }

private:
    double after_warmup(double s) const noexcept;

    ScheduleOptions options_;
    double learningrate_;
    std::int64_t warmup_;
    double length_ = 0;  // linear, cosine and wsd
    double decay_ = 0;   // wsd: D
    double gamma_ = 0;   // invsqrt
    ScheduleState state_;
};

}  // namespace lockstep::train

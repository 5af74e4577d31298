// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "runtime/core/view.hpp"
#include "runtime/kernels/loss_sums.hpp"

namespace lockstep::train {

enum class StepSum : std::size_t {
    loss,
    nll,
    tokens,
    correct,
    nonfinite_losses,  // micro-batches whose loss was not finite
    rows,
    truncated_rows,
    lanes,
    lanes_with_rows,
    lanes_finished,
    lanes_done,          // share of the epoch that each lane has done, summed over the lanes
    stop_wanted,         // ranks that were asked to stop
    clock_s,             // these three from rank 0 alone, so that all ranks go by one clock:
    since_validation_s,  // seconds of training, in all and since the last validation and save
    since_save_s,
    count
};

// What the ranks tell each other in every step, summed over all of them: whatever is decided from
// the sums is decided alike everywhere.
class StepVector {
public:
    double& operator[](StepSum sum) noexcept { return values_[static_cast<std::size_t>(sum)]; }
    double operator[](StepSum sum) const noexcept { return values_[static_cast<std::size_t>(sum)]; }
    void add(const kernels::LossSums& sums) noexcept;
    HostView<double> values() noexcept { return view_of(values_); }

private:
    std::array<double, static_cast<std::size_t>(StepSum::count)> values_{};
};

}  // namespace lockstep::train

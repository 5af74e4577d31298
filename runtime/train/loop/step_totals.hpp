// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "runtime/core/view.hpp"

namespace lockstep::train {

enum class StepTotals : std::size_t {
    rows,
    truncated_rows,
    lanes,
    lanes_with_rows,
    lanes_finished,
    stop_wanted,    // number of ranks that were asked to stop
    parts_written,  // number of ranks whose part of a save is written
    // Rank 0 alone gives these three, so that all ranks use one clock. They are seconds of
    // training: in total, since the last validation and since the last save.
    clock_s,
    since_validation_s,
    since_save_s,
    count
};

// Holds the values that the ranks' hosts add up in every step. A decision that depends only on the
// sums is the same on every rank. They are known before the step, so their all-reduce overlaps with
// the device's work; losses are summed in the device's memory (kernels::StepSums).
class StepVector {
public:
    double& operator[](StepTotals sum) noexcept { return values_[static_cast<std::size_t>(sum)]; }
    double operator[](StepTotals sum) const noexcept {
        return values_[static_cast<std::size_t>(sum)];
    }
    HostView<double> values() noexcept { return view_of(values_); }

private:
    std::array<double, static_cast<std::size_t>(StepTotals::count)> values_{};
};

}  // namespace lockstep::train

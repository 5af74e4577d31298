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
    lanes_done,          // share of the epoch that each lane has done, summed over the lanes
    stop_wanted,         // ranks that were asked to stop
    clock_s,             // these three from rank 0 alone, so that all ranks go by one clock:
    since_validation_s,  // seconds of training, in all and since the last validation and save
    since_save_s,
    count
};

// What the ranks' hosts tell each other in every step, summed over all of them: whatever is decided
// from the sums is decided alike everywhere. Known before the step is taken, so it is under way
// while the device computes; losses are summed in the device's memory (kernels::StepSums).
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace lockstep::launcher::report {

// The scale `from_zero` is linear and includes 0.
enum class Scale { linear, from_zero, logarithmic };

struct Axis {
    Scale scale = Scale::linear;
    double low = 0, high = 1;  // low < high; both positive on a logarithmic scale
    std::vector<double> ticks;

    // Returns 0 at `low` and 1 at `high`.
    double share(double value) const;
};

// Returns an axis whose limits and ticks are round values and which contains [low, high].
Axis value_axis(Scale scale, double low, double high);

// Returns an axis from 0 to exactly the last step, with ticks at whole steps.
Axis step_axis(double last_step);
// Returns an axis from 0 to `last`.
Axis axis_until(double last);

}  // namespace lockstep::launcher::report

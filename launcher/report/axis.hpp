// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace lockstep::launcher::report {

// from_zero: linear, with 0 on it.
enum class Scale { linear, from_zero, logarithmic };

struct Axis {
    Scale scale = Scale::linear;
    double low = 0, high = 1;  // low < high; positive where logarithmic
    std::vector<double> ticks;

    // 0 at `low`, 1 at `high`.
    double share(double value) const;
};

// Round values that hold [low, high] between them, and those between.
Axis value_axis(Scale scale, double low, double high);

// From 0 to the last step itself, with ticks at whole steps.
Axis step_axis(double last_step);
// From 0 to `last`.
Axis axis_until(double last);

}  // namespace lockstep::launcher::report

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/axis.hpp"
#include "launcher/report/series.hpp"

namespace lockstep::launcher::report {

enum class Mark { line, dots };

struct Curve {
    std::string label;
    int colour = 0;
    Mark mark = Mark::line;
    const Series* series = nullptr;
};

struct Chart {
    std::string title, unit, caption;
    Scale scale = Scale::linear;
    double factor = 1;  // from the curves' values to the unit
    std::vector<Curve> curves;
};

// The curves over the steps: a bin's mean, and where there is one line alone its lowest and highest
// value behind it. Empty where no curve has a value.
std::string chart(const Chart& chart, double last_step);

}  // namespace lockstep::launcher::report

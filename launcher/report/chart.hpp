// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/abscissa.hpp"
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

// How far the curves of some charts go, in what.
struct Reach {
    Abscissa abscissa = Abscissa::steps;
    double last = 1;
};
Axis axis_of(const Reach& reach);

// The curves: a bin's mean, and where there is one line alone its lowest and highest value behind
// it. Empty where no curve has a value.
std::string chart(const Chart& chart, const Reach& reach);

}  // namespace lockstep::launcher::report

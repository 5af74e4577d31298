// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/charts/abscissa.hpp"
#include "launcher/report/charts/axis.hpp"
#include "launcher/report/charts/series.hpp"

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
    double factor = 1;  // converts the curves' values to the unit
    std::vector<Curve> curves;
};

// Tells where the x axis ends that several charts share.
struct Reach {
    Abscissa abscissa = Abscissa::steps;
    double last = 1;
};
Axis axis_of(const Reach& reach);

// Returns the chart as HTML. A curve shows the mean of each bin. A chart with one line also shows
// each bin's lowest and highest value as a band. The result is empty when no curve has a value.
std::string chart(const Chart& chart, const Reach& reach);

}  // namespace lockstep::launcher::report

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/report/charts/abscissa.hpp"
#include "launcher/report/charts/axis.hpp"

namespace lockstep::launcher::report {

// Describes the frame of an SVG picture that curves are drawn into.
struct Plot {
    Abscissa abscissa;
    Axis across, values;

    double x(double place) const;
    double y(double value) const;
};

std::string begin_plot(const Plot& plot, std::string_view title, std::string_view unit);
std::string end_plot();

// A strip is a vertical part of the plot that shows a text when the pointer is on it.
struct Strip {
    double first = 0, last = 0;
    std::string text;
};
std::string strips(const Plot& plot, const std::vector<Strip>& strips);

// Returns an entry of a legend. `colour` is the number N of `.cN` in the style.
std::string legend_key(int colour, std::string_view label);

// Returns the picture with its title, its legend (may be empty) and a caption that explains it.
std::string figure(std::string_view title, std::string_view legend, std::string_view svg,
                   std::string_view caption);

}  // namespace lockstep::launcher::report

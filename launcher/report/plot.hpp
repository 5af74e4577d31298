// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/report/axis.hpp"

namespace lockstep::launcher::report {

// A picture over the steps, as SVG: the frame that curves are drawn into.
struct Plot {
    Axis steps, values;

    double x(double step) const;
    double y(double value) const;
};

std::string begin_plot(const Plot& plot, std::string_view title, std::string_view unit);
std::string end_plot();

// An upright strip of the plot that shows a text where the pointer is on it.
struct Strip {
    double first_step = 0, last_step = 0;
    std::string text;
};
std::string strips(const Plot& plot, const std::vector<Strip>& strips);

// "step 20", "steps 20 to 40"
std::string steps_text(double first, double last);

// A legend's entry; colour: of `.cN` in the style.
std::string legend_key(int colour, std::string_view label);

// The picture with its title, legend (may be empty) and how to read it.
std::string figure(std::string_view title, std::string_view legend, std::string_view svg,
                   std::string_view caption);

}  // namespace lockstep::launcher::report

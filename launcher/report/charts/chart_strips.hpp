// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/report/charts/chart.hpp"
#include "launcher/report/charts/plot.hpp"

namespace lockstep::launcher::report {

constexpr std::size_t max_strips = 80;

// Tells whether the chart's scale can show the bin.
bool is_drawn(const Chart& chart, const Bin& bin);

// Returns the values of all curves as text, one strip for each x position with values. When there
// are more than max_strips positions, neighbouring ones share a strip.
std::vector<Strip> chart_strips(const Chart& chart, const Reach& reach);

}  // namespace lockstep::launcher::report

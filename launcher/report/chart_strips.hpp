// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/report/chart.hpp"
#include "launcher/report/plot.hpp"

namespace lockstep::launcher::report {

constexpr std::size_t max_strips = 80;

// Whether a bin has a place on the chart's scale.
bool is_drawn(const Chart& chart, const Bin& bin);

// The values of all curves in words, one strip for each place where there are some; of more places
// than max_strips the nearest share one.
std::vector<Strip> chart_strips(const Chart& chart, const Reach& reach);

}  // namespace lockstep::launcher::report

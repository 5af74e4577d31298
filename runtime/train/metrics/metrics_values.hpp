// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/train/loop/training_events.hpp"

namespace lockstep::train {

// Holds a number of a report under the name that docs/metrics.md explains. Every output uses the
// same names.
struct MetricValue {
    std::string name;
    std::variant<double, std::int64_t> value;

    double as_double() const;
};

// Returns all numbers except step, updates and epoch, which identify the report.
std::vector<MetricValue> metric_values(const StepReport& report);
std::vector<MetricValue> metric_values(const ValidationReport& report);

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// `macro` is the mean of the sets' values. `micro` treats all rows as one set.
enum class Average { macro, micro };
Average average_of(const RunConfig& config) noexcept;

// Divides a limit of rows among the sets, as ParlAI does; <= 0 means no limit.
std::int64_t share_of_each(std::int64_t limit, std::size_t sets) noexcept;

// Combines the metrics of several data sets into one report, as ParlAI does. Each set's own metrics
// are named "NAME/metric", their average has no prefix, and counts are summed.
train::ValidationReport average(const std::vector<std::string>& names,
                                const std::vector<train::ValidationReport>& reports,
                                Average average);

// Evaluates a model on several data sets, one after the other.
class AveragedValidator final : public train::Validator {
public:
    AveragedValidator(std::vector<std::string> names,
                      std::vector<std::unique_ptr<train::Validator>> validators, Average average);

    std::optional<train::ValidationReport> evaluate(const train::StopFlag& stop) override;

private:
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<train::Validator>> validators_;
    Average average_;
};

// Returns the validator itself when there is only one.
std::unique_ptr<train::Validator> averaged(
    std::vector<std::string> names, std::vector<std::unique_ptr<train::Validator>> validators,
    Average average);

}  // namespace lockstep::launcher

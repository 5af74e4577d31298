// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// macro: the mean of the sets' values. micro: as if all rows were one set.
enum class Average { macro, micro };
Average average_of(const RunConfig& config) noexcept;

// Divides a limit of rows among the sets, as ParlAI does; <= 0 means no limit.
std::int64_t share_of_each(std::int64_t limit, std::size_t sets) noexcept;

// Metrics of several data sets as one report, as ParlAI's: each set's own as "NAME/metric" and
// their average without a prefix; counts are summed.
train::ValidationReport average(const std::vector<std::string>& names,
                                const std::vector<train::ValidationReport>& reports,
                                Average average);

// Evaluates a model on several data sets, one after the other.
class AveragedValidator final : public train::Validator {
public:
    AveragedValidator(std::vector<std::string> names,
                      std::vector<std::unique_ptr<train::Validator>> validators, Average average);

    train::ValidationReport evaluate() override;

private:
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<train::Validator>> validators_;
    Average average_;
};

// The one validator itself where there is one.
std::unique_ptr<train::Validator> averaged(
    std::vector<std::string> names, std::vector<std::unique_ptr<train::Validator>> validators,
    Average average);

}  // namespace lockstep::launcher

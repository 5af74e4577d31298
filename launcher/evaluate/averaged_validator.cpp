// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/averaged_validator.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::string_view token_count = "tokens", row_count = "examples";

bool is_count(std::string_view metric) { return metric == token_count || metric == row_count; }

// A micro average weights loss, ppl and token_acc by tokens, and metrics of replies by rows.
double weight_of(std::string_view metric, const train::ValidationReport& report) {
    const bool per_token = metric == "loss" || metric == "ppl" || metric == "token_acc";
    return report.metrics.at(std::string(per_token ? token_count : row_count));
}

double mean(const std::string& metric, const std::vector<train::ValidationReport>& reports,
            Average average) {
    double sum = 0, weights = 0;
    for (const train::ValidationReport& report : reports) {
        const auto found = report.metrics.find(metric);
        if (found == report.metrics.end()) continue;
        const double weight = average == Average::micro ? weight_of(metric, report) : 1.0;
        // Averages the logarithm because ppl is the exponential of a mean.
        const bool of_log = average == Average::micro && metric == "ppl";
        sum += weight * (of_log ? std::log(found->second) : found->second);
        weights += weight;
    }
    if (average == Average::macro || metric != "ppl") return weights > 0 ? sum / weights : 0.0;
    return std::exp(weights > 0 ? sum / weights : 0.0);
}

}  // namespace

Average average_of(const RunConfig& config) noexcept {
    return config.aggregate_micro ? Average::micro : Average::macro;
}

std::int64_t share_of_each(std::int64_t limit, std::size_t sets) noexcept {
    return limit <= 0 ? limit : std::max<std::int64_t>(1, limit / static_cast<std::int64_t>(sets));
}

train::ValidationReport average(const std::vector<std::string>& names,
                                const std::vector<train::ValidationReport>& reports,
                                Average average) {
    require(names.size() == reports.size() && !names.empty(), "each report has a name");
    train::ValidationReport all = reports.front();
    all.metrics.clear();
    all.seconds = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        all.seconds += reports[i].seconds;
        for (const auto& [metric, value] : reports[i].metrics) {
            all.metrics[names[i] + "/" + metric] = value;
            if (is_count(metric))
                all.metrics[metric] += value;
            else
                all.metrics[metric] = mean(metric, reports, average);
        }
    }
    return all;
}

AveragedValidator::AveragedValidator(std::vector<std::string> names,
                                     std::vector<std::unique_ptr<train::Validator>> validators,
                                     Average average)
    : names_(std::move(names)), validators_(std::move(validators)), average_(average) {}

std::optional<train::ValidationReport> AveragedValidator::evaluate(const train::StopFlag& stop) {
    std::vector<train::ValidationReport> reports;
    for (const auto& validator : validators_) {
        auto report = validator->evaluate(stop);
        if (!report) return std::nullopt;
        reports.push_back(std::move(*report));
    }
    return average(names_, reports, average_);
}

std::unique_ptr<train::Validator> averaged(
    std::vector<std::string> names, std::vector<std::unique_ptr<train::Validator>> validators,
    Average average) {
    if (validators.size() == 1) return std::move(validators.front());
    return std::make_unique<AveragedValidator>(std::move(names), std::move(validators), average);
}

}  // namespace lockstep::launcher

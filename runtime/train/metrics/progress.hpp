// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/log.hpp"
#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::train {

// How far a run is on its way to whichever limit comes first.
struct Progress {
    std::optional<double> share;  // 0..1; empty without a limit
    std::optional<double> eta_s;
};

// One line without an end, at most `columns` wide, ASCII: a bar, step, epoch, loss, tokens/s, ETA.
// What does not fit goes: the bar first, then from the right.
std::string progress_bar(const StepReport& report, const Progress& progress, int columns);
// The same and a little more, for a line that stays.
std::string progress_line(const StepReport& report, const Progress& progress);
// To so many digits; a whole number, such as a count, to its last one.
std::string metric_text(double value, int digits);
// The averages over several data sets, whose names have no '/', before each set's own.
std::vector<std::pair<std::string, double>> averages_first(
    const std::map<std::string, double>& metrics);
// "loss 5.1 | ppl 164 | token_acc 0.11"
std::string metrics_text(const ValidationReport& report);
std::string validation_line(const ValidationReport& report);

// "1:02:03", "4:05"; days as "2d 01:02:03"
std::string duration_text(double seconds);
// "873", "12.3k", "4.56M"
std::string short_number(double value);

// Follows the limits over a run's reports.
class ProgressEstimate {
public:
    // `earlier_s`: training time of the runs that this one continues.
    ProgressEstimate(const RunLimits& limits, double earlier_s)
        : limits_(limits), seconds_(earlier_s) {}

    // Time that passed outside of steps.
    void add_seconds(double seconds) noexcept { seconds_ += seconds; }

    // The remaining time is by the pace since the first report: a continued run's earlier progress
    // says nothing about it.
    Progress update(const StepReport& report);

private:
    RunLimits limits_;
    double seconds_;
    std::optional<double> first_share_;
    double first_seconds_ = 0;
};

enum class Display { bar, lines };

// Shows reports as they come: steps as a bar that is rewritten in place, or steps and validations
// as lines.
class ProgressDisplay final : public TrainingObserver {
public:
    // `columns` is asked for the width of the terminal each time.
    ProgressDisplay(Log& log, Display display, const RunLimits& limits, double earlier_s,
                    std::function<int()> columns)
        : log_(log),
          display_(display),
          estimate_(limits, earlier_s),
          columns_(std::move(columns)) {}

    void on_step(const StepReport& report) override;
    void on_validation(const ValidationReport& report) override;

private:
    Log& log_;
    Display display_;
    ProgressEstimate estimate_;
    std::function<int()> columns_;
};

}  // namespace lockstep::train

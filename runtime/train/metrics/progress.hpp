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

// Describes the progress of a run towards the limit that comes first.
struct Progress {
    std::optional<double> share;  // 0..1; empty without a limit
    std::optional<double> eta_s;
};

// Returns one line without a line end, at most `columns` wide, in ASCII: a bar, step, epoch, loss,
// tokens/s, ETA. If the line is too long, the bar is dropped first, then the parts from the right.
std::string progress_bar(const StepReport& report, const Progress& progress, int columns);
// Returns the same values and a few more, for a line that stays.
std::string progress_line(const StepReport& report, const Progress& progress);
// Formats with `digits` digits; a whole number, such as a count, gets all its digits. A value that
// is not a number is "-".
std::string metric_text(double value, int digits);
// Puts the averages over several data sets, whose names have no '/', before each set's own metrics.
std::vector<std::pair<std::string, double>> averages_first(
    const std::map<std::string, double>& metrics);
// Returns a text such as "loss 5.1 | ppl 164 | token_acc 0.11".
std::string metrics_text(const ValidationReport& report);
std::string validation_line(const ValidationReport& report);

// Returns a text such as "1:02:03", "4:05" or "2d 01:02:03".
std::string duration_text(double seconds);
// Returns a text such as "873", "12.3k" or "4.56M".
std::string short_number(double value);

// Follows the run's progress towards its limits from its reports.
class ProgressEstimate {
public:
    // `earlier_s` is the training time of the runs that this one continues.
    ProgressEstimate(const RunLimits& limits, double earlier_s)
        : limits_(limits), seconds_(earlier_s) {}

    // Adds time that passed outside of steps.
    void add_seconds(double seconds) noexcept { seconds_ += seconds; }

    // Estimates the remaining time from the speed since the first report, because the earlier
    // progress of a continued run says nothing about it.
    Progress update(const StepReport& report);

private:
    RunLimits limits_;
    double seconds_;
    std::optional<double> first_share_;
    double first_seconds_ = 0;
};

enum class Display { bar, lines };

// Shows reports as they come: steps as a bar that is redrawn, or steps and validations as lines.
class ProgressDisplay final : public TrainingObserver {
public:
    // `columns` returns the current width of the terminal; it is called for each line.
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

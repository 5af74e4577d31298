// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/metrics/metrics_file.hpp"

namespace lockstep::train {

// Returns one JSON object without a line end; numbers that are not finite become null.
std::string metrics_line(const StepReport& report);
std::string metrics_line(const ValidationReport& report);
std::string final_line(const ValidationReport& report);

// Removes the lines of steps after `step`, the lines of the run's end, and lines that are not
// whole, wherever they are. A missing file is no error.
void truncate_metrics(const std::string& path, std::int64_t step);

// Writes FOLDER/metrics.jsonl: one line for each report, each with one call.
class MetricsWriter final : public TrainingObserver {
public:
    // The run continues after `resumed_step` (0: from the start); lines of later steps are removed.
    // A file that cannot be written is told to `log` (see MetricsFile).
    MetricsWriter(const std::string& folder, std::int64_t resumed_step, Log& log);

    void on_step(const StepReport& report) override;
    void on_validation(const ValidationReport& report) override;
    void on_final(const ValidationReport& report) override;

private:
    MetricsFile file_;
};

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/ending.hpp"

#include "launcher/report/charts/numbers.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::report {

namespace {

std::string failure_text(const Failure& failure) {
    std::string text = failure.report.empty() ? "the run has failed" : failure.report;
    std::string facts;
    const auto add = [&](const char* what, const std::string& value) {
        if (!value.empty()) facts += (facts.empty() ? "" : ", ") + std::string(what) + " " + value;
    };
    add("rank", failure.rank);
    add("host", failure.host);
    add("phase", failure.phase);
    add("step", failure.step);
    add("cause", failure.cause);
    add("at", failure.time);
    if (failure.report.find(failure.error) == std::string::npos) add("error", failure.error);
    return facts.empty() ? text : text + " (" + facts + ")";
}

// Tells whether the option was given, is a limit (above 0), and `value` has reached it.
bool reached(const SavedState& saved, const char* option, double value) {
    const auto limit = number_of(text_of(saved.options, option));
    constexpr double rounding = 1e-9;
    return limit && *limit > 0 && value >= *limit * (1 - rounding);
}

// Returns the limit that ended the run; empty when none is known. Checkpoints of earlier versions
// do not name it.
std::string limit_reached(const Run& run, const SavedState& saved) {
    if (!saved.ended.empty()) return saved.ended;
    const History& history = run.history;
    if (reached(saved, "num-epochs", history.epoch())) return "all its epochs are done";
    if (reached(saved, "max-train-steps", static_cast<double>(history.updates())))
        return "--max-train-steps is reached";
    if (reached(saved, "max-train-time", history.train("seconds").total()))
        return "--max-train-time is over";
    if (reached(saved, "validation-patience", static_cast<double>(saved.without_better)))
        return "no validation was better for as many as --validation-patience";
    return "";
}

}  // namespace

Ending ending(const Run& run) {
    if (run.failure) return {EndKind::failed, failure_text(*run.failure)};
    const std::string last = grouped(run.history.step());
    if (!run.saved) {
        return {EndKind::open, "Going on, or ended without a word: its last line is of step " +
                                   last + ", written " + run.last_line +
                                   ", and there is no checkpoint yet"};
    }
    if (run.saved->step < run.history.step()) {
        return {EndKind::open, "Going on, or ended without a word: its last line is of step " +
                                   last + ", written " + run.last_line +
                                   ", the newest checkpoint of step " + grouped(run.saved->step)};
    }
    const std::string limit = limit_reached(run, *run.saved);
    if (!limit.empty()) return {EndKind::ended, "Ended: " + limit};
    return {EndKind::stopped, "Stopped after step " + last +
                                  " with a checkpoint, or going on from there; the same command "
                                  "continues it"};
}

}  // namespace lockstep::launcher::report

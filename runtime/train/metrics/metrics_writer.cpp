// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_writer.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/files/read_lines.hpp"
#include "runtime/train/metrics/metrics_values.hpp"

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;

// Returns the Unix time in seconds, with millisecond resolution.
double unix_time() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
    return static_cast<double>(ms) / 1e3;
}

template <class Report>
Json line_of(const char* kind, const Report& report) {
    Json line = {{"kind", kind},
                 {"step", report.step},
                 {"updates", report.updates},
                 {"epoch", report.epoch},
                 {"time", unix_time()}};
    for (const MetricValue& metric : metric_values(report)) {
        std::visit([&](auto value) { line[metric.name] = value; }, metric.value);
    }
    return line;
}

constexpr const char* final_kind = "final";

// Returns the step of a line. Returns -1 if the line is not whole or describes the end of a run,
// which a continued run has not reached.
std::int64_t step_of(std::string_view line) {
    const Json json = try_parse_ordered_json(line);
    if (!json.is_object() || !json.contains("step")) return -1;
    if (json.contains("kind") && json["kind"] == final_kind) return -1;
    return json["step"].is_number_integer() ? json["step"].get<std::int64_t>() : -1;
}

std::string metrics_path(const std::string& folder) { return folder + "/metrics.jsonl"; }

}  // namespace

// nlohmann's dump writes null for numbers that are not finite.
std::string metrics_line(const StepReport& report) { return dump_json(line_of("train", report)); }

std::string metrics_line(const ValidationReport& report) {
    Json line = line_of("valid", report);
    line["best"] = report.best;
    return dump_json(line);
}

std::string final_line(const ValidationReport& report) {
    Json line = line_of(final_kind, report);
    line["split"] = report.split;
    line["best"] = report.best;
    return dump_json(line);
}

void truncate_metrics(const std::string& path, std::int64_t step) {
    if (path_exists(path) && !is_file(path))
        throw Error(ErrorKind::io, path + ": cannot be read: not a regular file");
    if (!path_exists(path)) return;
    std::string kept;
    bool is_prefix = true;  // the kept lines are the beginning of the file
    bool removed = false;
    // A last line without a line end was cut off by a crash.
    for_each_line(path, [&](std::string_view line) {
        const std::int64_t at = step_of(line);
        const bool stays = at >= 0 && at <= step;
        if (stays) kept.append(line) += '\n';
        is_prefix = is_prefix && !(stays && removed);
        removed = removed || !stays;
    });
    if (!is_prefix) {
        write_atomically(path, kept);
        return;
    }
    std::error_code failure;
    if (kept.size() < std::filesystem::file_size(path, failure))
        std::filesystem::resize_file(path, kept.size(), failure);
    if (failure) {
        errno = failure.value();
        throw_errno("cannot be cut back to step " + std::to_string(step), path);
    }
}

MetricsWriter::MetricsWriter(const std::string& folder, std::int64_t resumed_step, Log& log)
    : file_(metrics_path(folder), log,
            [resumed_step](const std::string& path) { truncate_metrics(path, resumed_step); }) {}

void MetricsWriter::on_step(const StepReport& report) { file_.append(metrics_line(report) + "\n"); }

void MetricsWriter::on_validation(const ValidationReport& report) {
    file_.append(metrics_line(report) + "\n");
}

void MetricsWriter::on_final(const ValidationReport& report) {
    file_.append(final_line(report) + "\n");
}

}  // namespace lockstep::train

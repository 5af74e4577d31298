// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_writer.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
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
std::int64_t step_of(const std::string& line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step")) return -1;
    if (json.contains("kind") && json["kind"] == final_kind) return -1;
    return json["step"].is_number_integer() ? json["step"].get<std::int64_t>() : -1;
}

std::string metrics_path(const std::string& folder) { return folder + "/metrics.jsonl"; }

}  // namespace

// nlohmann's dump writes null for numbers that are not finite.
std::string metrics_line(const StepReport& report) { return line_of("train", report).dump(); }

std::string metrics_line(const ValidationReport& report) {
    Json line = line_of("valid", report);
    line["best"] = report.best;
    return line.dump();
}

std::string final_line(const ValidationReport& report) {
    Json line = line_of(final_kind, report);
    line["split"] = report.split;
    line["best"] = report.best;
    return line.dump();
}

void truncate_metrics(const std::string& path, std::int64_t step) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return;
    std::uintmax_t kept_bytes = 0;
    // A last line without a line end, which getline reports as eof, was cut off by a crash.
    for (std::string line; std::getline(in, line) && !in.eof();) {
        const std::int64_t at = step_of(line);
        if (at < 0 || at > step) break;
        kept_bytes += line.size() + 1;
    }
    if (in.bad()) throw_errno("cannot be read", path);
    std::error_code failure;
    if (kept_bytes < std::filesystem::file_size(path, failure)) {
        std::filesystem::resize_file(path, kept_bytes, failure);
    }
    if (failure) {
        errno = failure.value();
        throw_errno("cannot be cut back to step " + std::to_string(step), path);
    }
}

MetricsWriter::MetricsWriter(const std::string& folder, std::int64_t resumed_step)
    : file_(metrics_path(folder), OutputFile::Mode::append) {
    truncate_metrics(file_.path(), resumed_step);
}

void MetricsWriter::on_step(const StepReport& report) { file_.write(metrics_line(report) + "\n"); }

void MetricsWriter::on_validation(const ValidationReport& report) {
    file_.write(metrics_line(report) + "\n");
}

void MetricsWriter::on_final(const ValidationReport& report) {
    file_.write(final_line(report) + "\n");
}

}  // namespace lockstep::train

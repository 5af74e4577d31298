// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_writer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/core/json_text.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/runtime/train/metrics/told_folder.hpp"

using namespace lockstep;
using namespace lockstep::train;
using nlohmann::json;

namespace {

StepReport report_of(std::int64_t step) {
    StepReport report;
    report.step = report.updates = step;
    report.epoch = 0.25;
    report.loss = 3.5;
    report.tokens = 128;
    return report;
}

std::vector<json> lines_of(const std::string& path) {
    std::vector<json> lines;
    std::istringstream in(tests::read_text(path));
    for (std::string line; std::getline(in, line);) lines.push_back(parse_json(line));
    return lines;
}

}  // namespace

TEST_CASE("a step's line has every documented key") {
    StepReport report = report_of(7);
    report.peak_memory_bytes = 1ull << 40;
    json line = parse_json(metrics_line(report));
    CHECK(line["kind"] == "train");
    CHECK(line["step"] == 7);
    CHECK(line["loss"] == 3.5);
    CHECK(line["tokens"] == 128);
    CHECK(line["tokens"].is_number_integer());
    CHECK(line["time"] > 1.7e9);
    CHECK(line["peak_memory_bytes"] == 1ull << 40);
    for (const char* key : {"updates",
                            "epoch",
                            "ppl",
                            "token_acc",
                            "rows",
                            "truncated_rows",
                            "tokens_per_s",
                            "lanes",
                            "skipped",
                            "lr",
                            "gnorm",
                            "clip",
                            "seconds",
                            "seconds_data",
                            "seconds_forward",
                            "seconds_backward",
                            "seconds_comm_not_hidden",
                            "seconds_optimizer",
                            "seconds_buckets",
                            "seconds_buckets_not_hidden",
                            "seconds_last_bucket"}) {
        CAPTURE(key);
        CHECK(line.contains(key));
    }
    CHECK_FALSE(line.contains("hidden"));
    CHECK_FALSE(line.contains("bytes_weights"));
    report.sent = {64, 0, 4096};
    report.replicas_s = 0.5;
    report.replicas_blocked_s = 0.125;
    line = parse_json(metrics_line(report));
    CHECK(line["bytes_weights"] == 64);
    CHECK_FALSE(line.contains("bytes_gradients"));
    CHECK_FALSE(line.contains("seconds_gradients"));
    CHECK(line["bytes_replicas"] == 4096);
    CHECK(line["seconds_replicas"] == 0.5);
    CHECK(line["seconds_replicas_not_hidden"] == 0.125);
    CHECK_FALSE(line.contains("bytes_tensor"));
    CHECK_FALSE(line.contains("bytes_pipeline"));
    report.sent = {.tensor = 128, .pipeline = 32};
    report.tensor_s = 0.75;
    report.pipeline_s = 0.25;
    line = parse_json(metrics_line(report));
    CHECK(line["bytes_tensor"] == 128);
    CHECK(line["seconds_tensor"] == 0.75);
    CHECK(line["seconds_tensor_not_hidden"] == 0.75);
    CHECK(line["bytes_pipeline"] == 32);
    CHECK(line["seconds_pipeline"] == 0.25);
    CHECK(line["seconds_pipeline_not_hidden"] == 0.25);
    report.hidden_share = 0.9;
    CHECK(parse_json(metrics_line(report))["hidden"] == 0.9);
}

TEST_CASE("numbers that are not finite become null") {
    StepReport report = report_of(1);
    report.outcome = Outcome::not_finite;
    report.gnorm = std::numeric_limits<double>::quiet_NaN();
    report.ppl = std::numeric_limits<double>::infinity();
    const json line = parse_json(metrics_line(report));
    CHECK(line["gnorm"].is_null());
    CHECK(line["ppl"].is_null());
    CHECK(line["skipped"] == 1);
}

TEST_CASE("a validation's line has its metrics") {
    ValidationReport report;
    report.step = 9;
    report.best = true;
    report.metrics = {{"ppl", 12.5}, {"f1", 0.25}};
    const json line = parse_json(metrics_line(report));
    CHECK(line["kind"] == "valid");
    CHECK(line["step"] == 9);
    CHECK(line["ppl"] == 12.5);
    CHECK(line["f1"] == 0.25);
    CHECK(line["best"] == true);
}

TEST_CASE("the end of a run has a line for each split, until the run is continued") {
    tests::ToldFolder folder;
    const std::string path = folder / "metrics.jsonl";
    {
        MetricsWriter writer(folder.path(), 0, folder.log);
        writer.on_step(report_of(1));
        ValidationReport final;
        final.step = 1;
        final.split = "test";
        final.metrics = {{"ppl", 12.5}};
        writer.on_final(final);
    }
    const std::vector<json> lines = lines_of(path);
    REQUIRE(lines.size() == 2);
    CHECK(lines[1]["kind"] == "final");
    CHECK(lines[1]["split"] == "test");
    CHECK(lines[1]["ppl"] == 12.5);
    MetricsWriter(folder.path(), 1, folder.log);
    CHECK(lines_of(path).size() == 1);
}

TEST_CASE("a continued run leaves each step in the file once") {
    tests::ToldFolder folder;
    const std::string path = folder / "metrics.jsonl";
    {
        MetricsWriter writer(folder.path(), 0, folder.log);
        for (std::int64_t step = 1; step <= 5; ++step) writer.on_step(report_of(step));
        ValidationReport validation;
        validation.step = 5;
        writer.on_validation(validation);
    }
    CHECK(lines_of(path).size() == 6);
    {
        MetricsWriter writer(folder.path(), 3, folder.log);
        CHECK(lines_of(path).size() == 3);
        for (std::int64_t step = 4; step <= 6; ++step) writer.on_step(report_of(step));
    }
    const std::vector<json> lines = lines_of(path);
    REQUIRE(lines.size() == 6);
    for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["step"] == i + 1);
    MetricsWriter(folder.path(), 0, folder.log);
    CHECK(tests::read_text(path).empty());
}

TEST_CASE("what a crash left half-written goes") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "metrics.jsonl";
    const std::string good = metrics_line(report_of(1)) + "\n";
    const std::string next = metrics_line(report_of(2));
    for (const std::string& tail :
         {next, next.substr(0, 9), next.substr(0, 9) + "\n", std::string("{}\n"), std::string("\n"),
          std::string("7\n"), std::string(1 << 17, ' ') + next + "\n"}) {
        tests::write_text(path, good + tail);
        truncate_metrics(path, 10);
        CHECK(tests::read_text(path) == good);
    }
    truncate_metrics(folder / "none", 10);
    CHECK(folder.names() == std::set<std::string>{"metrics.jsonl"});
}

TEST_CASE("a line that is not whole does not take the lines behind it along") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "metrics.jsonl";
    const std::string first = metrics_line(report_of(1)) + "\n";
    const std::string second = metrics_line(report_of(2)) + "\n";
    const std::string third = metrics_line(report_of(3)) + "\n";
    tests::write_text(path, first + first.substr(0, 9) + "\n" + second + third);
    truncate_metrics(path, 2);
    CHECK(tests::read_text(path) == first + second);
    CHECK(folder.names() == std::set<std::string>{"metrics.jsonl"});
}

TEST_CASE("metrics that cannot be written are told once and written later") {
    tests::ToldFolder folder;
    const std::string path = folder / "metrics.jsonl";
    MetricsWriter writer(folder.path(), 0, folder.log);
    writer.on_step(report_of(1));
    {
        // The second line fits in part, the third not at all.
        const tests::FileSizeLimit limit(std::filesystem::file_size(path) + 20);
        writer.on_step(report_of(2));
        writer.on_step(report_of(3));
    }
    CHECK(
        folder.told.str().starts_with("warning: " + path + ": cannot be written: File too large"));
    CHECK(folder.told.str().find("(EFBIG)") != std::string::npos);
    writer.on_step(report_of(4));
    const std::string told = folder.told.str();
    CHECK(std::count(told.begin(), told.end(), '\n') == 1);
    const std::vector<json> lines = lines_of(path);
    REQUIRE(lines.size() == 4);
    for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["step"] == i + 1);
}

TEST_CASE("metrics whose file cannot be opened wait for it") {
    tests::ToldFolder folder;
    const std::string missing = folder / "later";
    MetricsWriter writer(missing, 0, folder.log);
    writer.on_step(report_of(1));
    CHECK(folder.told.str().find("(ENOENT)") != std::string::npos);
    std::filesystem::create_directory(missing);
    tests::write_text(missing + "/metrics.jsonl", metrics_line(report_of(9)) + "\n");
    writer.on_step(report_of(2));
    const std::vector<json> lines = lines_of(missing + "/metrics.jsonl");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["step"] == 1);
    CHECK(lines[1]["step"] == 2);
}

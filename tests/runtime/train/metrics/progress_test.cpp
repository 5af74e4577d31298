// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/progress.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

using namespace lockstep;
using namespace lockstep::train;

namespace {

StepReport example() {
    StepReport report;
    report.step = 1234;
    report.updates = 1230;
    report.epoch = 2.359;
    report.loss = 3.21449;
    report.ppl = 24.883;
    report.token_acc = 0.3126;
    report.lr = 5e-4;
    report.gnorm = 0.5234;
    report.tokens_per_s = 12345;
    return report;
}

}  // namespace

TEST_CASE("the bar's line at several widths") {
    const Progress progress{0.347, 3661};
    CHECK(
        progress_bar(example(), progress, 100) ==
        "[=========>                  ]  34%  step 1234  epoch 3 35%  loss 3.214  12.3k tokens/s  "
        "ETA 1:01:01");
    CHECK(progress_bar(example(), progress, 80) ==
          "[==>     ]  34%  step 1234  epoch 3 35%  loss 3.214  12.3k tokens/s  ETA 1:01:01");
    CHECK(progress_bar(example(), progress, 76) ==
          " 34%  step 1234  epoch 3 35%  loss 3.214  12.3k tokens/s  ETA 1:01:01");
    CHECK(progress_bar(example(), progress, 60) ==
          " 34%  step 1234  epoch 3 35%  loss 3.214  12.3k tokens/s");
    CHECK(progress_bar(example(), progress, 20) == " 34%  step 1234");
    CHECK(progress_bar(example(), progress, 3) == " 34");
    CHECK(progress_bar(example(), {}, 100) == "step 1234  epoch 3 35%  loss 3.214  12.3k tokens/s");
}

TEST_CASE("a share is told as the whole percents that are done") {
    StepReport report = example();
    for (const int percent : {0, 1, 7, 28, 29, 57, 58, 99}) {
        CAPTURE(percent);
        report.epoch = 2 + percent / 100.0;
        const std::string end = std::to_string(percent) + "%";
        if (percent > 0)
            CHECK(progress_line(report, {}).find(" " + end + " |") != std::string::npos);
        CHECK(progress_bar(report, {percent / 100.0, std::nullopt}, 100).find(" " + end + "  ") !=
              std::string::npos);
    }
}

TEST_CASE("no line is wider than the terminal") {
    StepReport report = example();
    for (const double share : {0.0, 0.5, 1.0}) {
        for (int columns = 1; columns < 200; ++columns) {
            CHECK(progress_bar(report, {share, 1e7}, columns).size() <=
                  static_cast<std::size_t>(columns));
        }
    }
}

TEST_CASE("a finished run has a full bar") {
    StepReport report = example();
    report.epoch = 3;
    CHECK(progress_bar(report, {1.0, 0.0}, 100)
              .starts_with("[==============================] 100%  step"));
    CHECK(progress_bar(report, {1.0, 0.0}, 100).find("epoch 3 100%") != std::string::npos);
}

TEST_CASE("lines for files and pipes") {
    CHECK(progress_line(example(), {0.347, 59.6}) ==
          "step 1234 | epoch 3 35% | loss 3.214 | ppl 24.88 | token_acc 0.313 | lr 0.0005 | "
          "gnorm 0.523 | 12.3k tokens/s | ETA 1:00");
    StepReport report = example();
    report.outcome = Outcome::not_finite;
    report.loss = std::numeric_limits<double>::quiet_NaN();
    CHECK(progress_line(report, {}) ==
          "step 1234 | epoch 3 35% | loss nan | ppl 24.88 | token_acc 0.313 | lr 0.0005 | "
          "gnorm 0.523 | 12.3k tokens/s | gradient not finite, update skipped");
    ValidationReport validation;
    validation.step = 1234;
    validation.epoch = 2;
    validation.seconds = 12;
    validation.best = true;
    validation.metrics = {{"ppl", 21.25}, {"f1", 0.125}};
    CHECK(validation_line(validation) ==
          "valid at step 1234 | epoch 2 100% | f1 0.125 | ppl 21.25 | in 0:12 | best so far");
}

TEST_CASE("a count is shown to the last digit") {
    ValidationReport validation;
    validation.metrics = {{"loss", 5.76351}, {"ppl", 123456.7}, {"tokens", 1234567}};
    CHECK(metrics_text(validation) == "loss 5.764 | ppl 1.235e+05 | tokens 1234567");
    CHECK(metric_text(1234567, 6) == "1234567");
    CHECK(metric_text(0, 6) == "0");
    CHECK(metric_text(0.1188358, 6) == "0.118836");
    CHECK(metric_text(std::numeric_limits<double>::infinity(), 6) == "inf");
    CHECK(metric_text(-std::numeric_limits<double>::quiet_NaN(), 6) == "-");
}

TEST_CASE("averages stand before the values of each data set") {
    ValidationReport validation;
    validation.metrics = {{"a/ppl", 2.5}, {"loss", 1.5}, {"ppl", 3.5}, {"z/ppl", 4.5}};
    CHECK(metrics_text(validation) == "loss 1.5 | ppl 3.5 | a/ppl 2.5 | z/ppl 4.5");
}

TEST_CASE("durations and short numbers") {
    CHECK(duration_text(0) == "0:00");
    CHECK(duration_text(59.5) == "1:00");
    CHECK(duration_text(3599) == "59:59");
    CHECK(duration_text(90061) == "1d 01:01:01");
    CHECK(short_number(0) == "0");
    CHECK(short_number(999.4) == "999");
    CHECK(short_number(999.5) == "1.00k");
    CHECK(short_number(99'940) == "99.9k");
    CHECK(short_number(99'960) == "100k");
    CHECK(short_number(4.56e6) == "4.56M");
    CHECK(short_number(std::numeric_limits<double>::infinity()) == "-");
}

TEST_CASE("the estimate follows the limit that comes first") {
    RunLimits limits;
    limits.num_epochs = 4;
    limits.max_train_steps = 100;
    ProgressEstimate estimate(limits, 0);
    StepReport report;
    report.seconds = 2;
    report.epoch = 1;
    report.updates = 10;
    CHECK(estimate.update(report).share.value() == 0.25);
    report.updates = 50;
    const Progress second = estimate.update(report);
    CHECK(second.share.value() == 0.5);
    CHECK(second.eta_s.value() == doctest::Approx(4));  // a quarter in 2 s, half to go
    estimate.add_seconds(2);
    report.updates = 75;
    CHECK(estimate.update(report).eta_s.value() == doctest::Approx(3));
    report.updates = 120;
    CHECK(estimate.update(report).eta_s.value() == 0);
}

TEST_CASE("a continued run knows the time already spent; without a limit there is no estimate") {
    RunLimits limits;
    StepReport report;
    report.seconds = 10;
    CHECK_FALSE(ProgressEstimate(limits, 0).update(report).share);
    limits.max_train_time_s = 100;
    ProgressEstimate estimate(limits, 40);
    CHECK(estimate.update(report).share.value() == 0.5);
    CHECK_FALSE(ProgressEstimate(limits, 0).update(report).eta_s);
    CHECK(estimate.update(report).eta_s.value() == doctest::Approx(40));
}

TEST_CASE("a terminal gets a bar in place, a file gets lines") {
    std::ostringstream terminal, file;
    Log terminal_log(terminal, Verbosity::normal, 0, "", OutputKind::terminal),
        file_log(file, Verbosity::normal, 0, "");
    ProgressDisplay bar(terminal_log, Display::bar, {}, 0, [] { return 60; });
    ProgressDisplay lines(file_log, Display::lines, {}, 0, [] { return 60; });
    for (ProgressDisplay* display : {&bar, &lines}) display->on_step(example());
    CHECK(terminal.str() == "\rstep 1234  epoch 3 35%  loss 3.214  12.3k tokens/s");
    CHECK(file.str().starts_with("step 1234 | "));
    CHECK(file.str().ends_with("tokens/s\n"));
    for (ProgressDisplay* display : {&bar, &lines}) display->on_validation({});
    CHECK(file.str().ends_with("valid at step 0 | epoch 1  0% | in 0:00\n"));
    CHECK(terminal.str().find("valid") == std::string::npos);
}

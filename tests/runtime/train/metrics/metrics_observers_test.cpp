// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_observers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace lockstep::train;

namespace {

class Recorder final : public TrainingObserver {
public:
    void on_step(const StepReport& report) override {
        steps.push_back(report);
        events.append("s").append(std::to_string(report.step));
    }
    void on_validation(const ValidationReport&) override { events += "v"; }
    void on_epoch(std::int64_t) override { events += "e"; }

    std::vector<StepReport> steps;
    std::string events;
};

StepReport report_of(std::int64_t step, double tokens, double loss) {
    StepReport report;
    report.step = step;
    report.tokens = tokens;
    report.loss = loss;
    report.ppl = std::exp(loss);
    report.token_acc = loss / 10;
    report.seconds = 0.5;
    report.gnorm = static_cast<double>(step);
    report.lr = 0.1 * static_cast<double>(step);
    return report;
}

}  // namespace

TEST_CASE("a summary weighs by tokens and adds up counts and seconds") {
    StepSummary summary;
    StepReport first = report_of(1, 30, 4), skipped = report_of(2, 0, std::nan("")),
               last = report_of(3, 10, 2);
    first.bucket_s = 2;
    first.communication_s = 0;
    first.bucket_blocked_s = 0;
    first.hidden_share = 1.0;
    first.clipped = 1;
    first.peak_memory_bytes = 9;
    skipped.outcome = Outcome::no_tokens;
    skipped.gnorm = std::nan("");
    last.bucket_s = 2;
    last.communication_s = 1;
    last.bucket_blocked_s = 1;
    last.hidden_share = 0.5;
    first.weights_s = 1;
    last.weights_s = 1;
    last.weights_blocked_s = 0.5;
    first.sent = {1, 2, 3, 4, 5};
    last.sent = {10, 20, 30, 40, 50};
    first.tensor_s = last.tensor_s = last.pipeline_s = 1;
    first.gradients_s = first.replicas_s = 1;
    last.gradients_s = last.replicas_blocked_s = 3;
    last.gradients_blocked_s = 2;
    for (const StepReport& report : {first, skipped, last}) summary.add(report);
    const StepReport all = summary.report();
    CHECK(all.step == 3);
    CHECK(all.outcome == Outcome::updated);
    CHECK(all.tokens == 40);
    CHECK(all.loss == doctest::Approx(3.5));
    CHECK(all.ppl == doctest::Approx(std::exp(3.5)));
    CHECK(all.token_acc == doctest::Approx(0.35));
    CHECK(all.seconds == 1.5);
    CHECK(all.tokens_per_s == doctest::Approx(40 / 1.5));
    CHECK(all.gnorm == 2);
    CHECK(all.clipped == 0.5);
    CHECK(all.lr == last.lr);
    CHECK(all.hidden_share.value() == 0.75);
    CHECK(all.weights_s == 2);
    CHECK(all.weights_blocked_s == 0.5);
    CHECK(all.peak_memory_bytes == 9);
    CHECK(all.sent.weights == 11);
    CHECK(all.sent.gradients == 22);
    CHECK(all.sent.replicas == 33);
    CHECK(all.sent.tensor == 44);
    CHECK(all.sent.pipeline == 55);
    CHECK(all.tensor_s == 2);
    CHECK(all.pipeline_s == 1);
    CHECK(all.gradients_s == 4);
    CHECK(all.gradients_blocked_s == 2);
    CHECK(all.replicas_s == 1);
    CHECK(all.replicas_blocked_s == 3);
}

TEST_CASE("steps are passed on at multiples, wherever a run begins") {
    for (const std::int64_t begin : {1, 2, 3}) {
        Recorder recorder;
        SummarisedSteps summarised(recorder, 3, 0);
        for (std::int64_t step = begin; step <= 7; ++step) {
            summarised.on_step(report_of(step, 1, 1));
        }
        CHECK(recorder.events == "s3s6");
        CHECK(recorder.steps.back().tokens == 3);
        summarised.flush();
        summarised.flush();
        CHECK(recorder.events == "s3s6s7");
    }
}

TEST_CASE("steps are passed on by time and before validations") {
    Recorder recorder;
    SummarisedSteps summarised(recorder, 0, 1.0);
    for (std::int64_t step = 1; step <= 5; ++step) summarised.on_step(report_of(step, 1, 1));
    CHECK(recorder.events == "s2s4");
    summarised.on_validation({});
    summarised.on_epoch(1);
    CHECK(recorder.events == "s2s4s5ve");
}

TEST_CASE("a list tells everybody in order") {
    Recorder first, second;
    ObserverList list;
    list.add(first);
    list.add(second);
    list.on_step(report_of(1, 1, 1));
    list.on_validation({});
    list.on_epoch(1);
    CHECK(first.events == "s1ve");
    CHECK(second.events == "s1ve");
}

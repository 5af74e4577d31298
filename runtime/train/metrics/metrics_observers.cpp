// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_observers.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/train/reduction/reduction_timing.hpp"

namespace lockstep::train {

void ObserverList::on_step(const StepReport& report) {
    for (TrainingObserver* observer : observers_) observer->on_step(report);
}

void ObserverList::on_validation(const ValidationReport& report) {
    for (TrainingObserver* observer : observers_) observer->on_validation(report);
}

void ObserverList::on_final(const ValidationReport& report) {
    for (TrainingObserver* observer : observers_) observer->on_final(report);
}

void ObserverList::on_epoch(std::int64_t epoch) {
    for (TrainingObserver* observer : observers_) observer->on_epoch(epoch);
}

void StepSummary::add(const StepReport& r) {
    const StepReport before = sum_;
    sum_ = r;
    if (steps_++ > 0) {
        for (const auto part : {&StepReport::tokens,          &StepReport::rows,
                                &StepReport::truncated_rows,  &StepReport::seconds,
                                &StepReport::data_s,          &StepReport::forward_s,
                                &StepReport::backward_s,      &StepReport::optimizer_s,
                                &StepReport::communication_s, &StepReport::bucket_s,
                                &StepReport::last_bucket_s,   &StepReport::bucket_blocked_s,
                                &StepReport::weights_s,       &StepReport::weights_blocked_s,
                                &StepReport::gradients_s,     &StepReport::gradients_blocked_s,
                                &StepReport::replicas_s,      &StepReport::replicas_blocked_s,
                                &StepReport::tensor_s,        &StepReport::pipeline_s}) {
            sum_.*part += before.*part;
        }
        for (const auto group :
             {&StepTraffic::weights, &StepTraffic::gradients, &StepTraffic::replicas,
              &StepTraffic::tensor, &StepTraffic::pipeline})
            sum_.sent.*group += before.sent.*group;
        sum_.peak_memory_bytes = std::max(before.peak_memory_bytes, r.peak_memory_bytes);
    }
    if (r.tokens > 0) {
        loss_ += r.loss * r.tokens;
        nll_ += std::log(r.ppl) * r.tokens;
        correct_ += r.token_acc * r.tokens;
    }
    if (r.outcome == Outcome::updated) {
        ++updated_;
        gnorm_ += r.gnorm;
        clipped_ += r.clipped;
    }
}

StepReport StepSummary::report() const {
    // A single step keeps its report unchanged, to the last bit.
    if (steps_ <= 1) return sum_;
    StepReport report = sum_;
    if (sum_.tokens > 0) {
        report.loss = loss_ / sum_.tokens;
        report.ppl = std::exp(nll_ / sum_.tokens);
        report.token_acc = correct_ / sum_.tokens;
    }
    if (updated_ > 0) {
        report.outcome = Outcome::updated;
        report.gnorm = gnorm_ / static_cast<double>(updated_);
        report.clipped = clipped_ / static_cast<double>(updated_);
    }
    report.tokens_per_s = sum_.seconds > 0 ? sum_.tokens / sum_.seconds : 0;
    report.hidden_share = hidden_share(sum_.bucket_blocked_s, sum_.bucket_s);
    return report;
}

void SummarisedSteps::on_step(const StepReport& report) {
    summary_.add(report);
    seconds_ += report.seconds;
    const bool steps_due = every_n_steps_ > 0 && report.step % every_n_steps_ == 0;
    const bool seconds_due = every_n_secs_ > 0 && seconds_ >= every_n_secs_;
    if (steps_due || seconds_due) flush();
}

void SummarisedSteps::on_validation(const ValidationReport& report) {
    flush();
    next_.on_validation(report);
}

void SummarisedSteps::on_final(const ValidationReport& report) {
    flush();
    next_.on_final(report);
}

void SummarisedSteps::on_epoch(std::int64_t epoch) { next_.on_epoch(epoch); }

void SummarisedSteps::flush() {
    if (!summary_.empty()) next_.on_step(summary_.report());
    summary_ = {};
    seconds_ = 0;
}

}  // namespace lockstep::train

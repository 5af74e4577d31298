// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/step_report.hpp"

#include <cmath>

namespace lockstep::train {
namespace {

void describe_losses(StepReport& report, const kernels::LossSums& sums) {
    report.tokens = sums.tokens;
    if (sums.tokens <= 0) return;
    report.loss = sums.loss / sums.tokens;
    report.ppl = std::exp(sums.nll / sums.tokens);
    report.token_acc = sums.correct / sums.tokens;
}

void describe_seconds(StepReport& report, const StepResult& result) {
    report.forward_s = result.forward_s;
    report.backward_s = result.backward_s;
    report.optimizer_s = result.optimizer_s;
    report.communication_s = result.reduction.blocked_s;
    report.bucket_s = result.reduction.bucket_s;
    report.bucket_blocked_s = result.reduction.bucket_blocked_s;
    report.last_bucket_s = result.reduction.last_bucket_s;
    report.hidden_share = result.reduction.hidden_share();
    report.weights_s = result.reduction.weights.seconds;
    report.weights_blocked_s = result.reduction.weights.blocked_s;
    report.gradients_s = result.reduction.gradients.seconds;
    report.gradients_blocked_s = result.reduction.gradients.blocked_s;
    report.replicas_s = result.reduction.replicas.seconds;
    report.replicas_blocked_s = result.reduction.replicas.blocked_s;
    report.tensor_s = result.tensor.seconds;
    report.pipeline_s = result.pipeline.seconds;
}

}  // namespace

StepReport describe(const StepResult& result, const StepVector& totals,
                    const kernels::LossScaling& scaling, const StepTraffic& sent) {
    const kernels::Step& step = result.step;
    StepReport report;
    describe_losses(report, step.sums.losses);
    describe_seconds(report, result);
    report.sent = sent;
    report.sent.tensor = result.tensor.bytes;
    report.sent.pipeline = result.pipeline.bytes;
    report.rows = totals[StepTotals::rows];
    report.truncated_rows = totals[StepTotals::truncated_rows];
    report.lanes = std::llround(totals[StepTotals::lanes_with_rows]);
    report.outcome = step.outcome;
    report.gnorm = step.gradient_norm;
    report.lr = static_cast<double>(step.state.lr);
    report.clipped = step.clip < 1 ? 1 : 0;
    if (scaling.kind == kernels::LossScaling::Kind::dynamic)
        report.loss_scale = static_cast<double>(step.scale.value);
    return report;
}

}  // namespace lockstep::train

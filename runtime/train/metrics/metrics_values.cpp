// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_values.hpp"

#include "runtime/train/reduction/reduction_timing.hpp"

namespace lockstep::train {

double MetricValue::as_double() const {
    return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

namespace {

// Appends what is known of gathers of weights and of reductions of gradients apart.
void append_by_kind(std::vector<MetricValue>& values, const StepReport& r) {
    values.push_back({"seconds_weights", r.weights_s});
    values.push_back({"seconds_weights_not_hidden", r.weights_blocked_s});
    values.push_back({"hidden_weights", *hidden_share(r.weights_blocked_s, r.weights_s)});
    const auto gradients =
        hidden_share(r.bucket_blocked_s - r.weights_blocked_s, r.bucket_s - r.weights_s);
    if (gradients) values.push_back({"hidden_gradients", *gradients});
}

// Appends what is sent to each group, and how long sums among its ranks took.
void append_by_group(std::vector<MetricValue>& values, const StepReport& r) {
    if (r.sent.weights > 0) values.push_back({"bytes_weights", r.sent.weights});
    if (r.sent.gradients > 0) {
        values.push_back({"bytes_gradients", r.sent.gradients});
        values.push_back({"seconds_gradients", r.gradients_s});
        values.push_back({"seconds_gradients_not_hidden", r.gradients_blocked_s});
    }
    if (r.sent.replicas > 0) {
        values.push_back({"bytes_replicas", r.sent.replicas});
        values.push_back({"seconds_replicas", r.replicas_s});
        values.push_back({"seconds_replicas_not_hidden", r.replicas_blocked_s});
    }
    // These exchanges are waited for at once.
    if (r.sent.tensor > 0) {
        values.push_back({"bytes_tensor", r.sent.tensor});
        values.push_back({"seconds_tensor", r.tensor_s});
        values.push_back({"seconds_tensor_not_hidden", r.tensor_s});
    }
    if (r.sent.pipeline > 0) {
        values.push_back({"bytes_pipeline", r.sent.pipeline});
        values.push_back({"seconds_pipeline", r.pipeline_s});
        values.push_back({"seconds_pipeline_not_hidden", r.pipeline_s});
    }
}

}  // namespace

std::vector<MetricValue> metric_values(const StepReport& r) {
    const auto count = [](double v) { return static_cast<std::int64_t>(v); };
    std::vector<MetricValue> values = {
        {"loss", r.loss},
        {"ppl", r.ppl},
        {"token_acc", r.token_acc},
        {"tokens", count(r.tokens)},
        {"rows", count(r.rows)},
        {"truncated_rows", count(r.truncated_rows)},
        {"tokens_per_s", r.tokens_per_s},
        {"lanes", r.lanes},
        {"skipped", std::int64_t{r.outcome == Outcome::updated ? 0 : 1}},
        {"lr", r.lr},
        {"gnorm", r.gnorm},
        {"clip", r.clipped},
        {"seconds", r.seconds},
        {"seconds_data", r.data_s},
        {"seconds_forward", r.forward_s},
        {"seconds_backward", r.backward_s},
        {"seconds_comm_not_hidden", r.communication_s},
        {"seconds_optimizer", r.optimizer_s},
        {"seconds_buckets", r.bucket_s},
        {"seconds_buckets_not_hidden", r.bucket_blocked_s},
        {"seconds_last_bucket", r.last_bucket_s},
        {"peak_memory_bytes", static_cast<std::int64_t>(r.peak_memory_bytes)}};
    if (r.loss_scale) values.push_back({"loss_scale", *r.loss_scale});
    if (r.hidden_share) values.push_back({"hidden", *r.hidden_share});
    if (r.weights_s > 0) append_by_kind(values, r);
    append_by_group(values, r);
    return values;
}

std::vector<MetricValue> metric_values(const ValidationReport& r) {
    std::vector<MetricValue> values;
    for (const auto& [name, value] : r.metrics) values.push_back({name, value});
    values.push_back({"seconds", r.seconds});
    return values;
}

}  // namespace lockstep::train

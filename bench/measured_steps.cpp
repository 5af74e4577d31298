// SPDX-License-Identifier: Apache-2.0
#include "bench/measured_steps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::bench {

namespace {

// Returns the smallest of `values` that more than the share `share` of them do not exceed. Of an
// even number, the median is thus the larger of the middle two, as the peer's.
double quantile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
    return values[std::min(at, values.size() - 1)];
}

double milliseconds(double s) { return std::round(s * 1e5) / 100; }

}  // namespace

void MeasuredSteps::add(double step_s, double host_s, const StepWork& work,
                        const train::StepReport& report) {
    seconds_.push_back(step_s);
    host_seconds_.push_back(host_s);
    work_.tokens += work.tokens;
    work_.flop += work.flop;
    last_ = report;
    sum_.forward_s += report.forward_s;
    sum_.backward_s += report.backward_s;
    sum_.communication_s += report.communication_s;
    sum_.optimizer_s += report.optimizer_s;
}

nlohmann::ordered_json MeasuredSteps::figures(Steps steps, std::optional<double> ceiling,
                                              comm::Communicator& communicator) const {
    const auto count = static_cast<double>(seconds_.size());
    const double median = quantile(seconds_, 0.5);
    const double mean = std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / count;
    const double step_s = steps == Steps::alike ? median : mean;
    std::vector<double> sums{work_.tokens / count, work_.flop / count, ceiling.value_or(0)};
    communicator.all_reduce(view_of(sums), comm::ReduceOp::sum, "figures");
    communicator.finish();
    nlohmann::ordered_json line{{"step_ms", milliseconds(step_s)},
                                {"min_ms", milliseconds(quantile(seconds_, 0))},
                                {"p50_ms", milliseconds(median)},
                                {"p99_ms", milliseconds(quantile(seconds_, 0.99))},
                                {"host_us", std::llround(quantile(host_seconds_, 0.5) * 1e6)},
                                {"tokens_per_s", std::llround(sums[0] / step_s)},
                                {"loss", last_.loss},
                                {"gflops", std::llround(sums[1] / step_s * 1e-9)},
                                {"forward_ms", milliseconds(sum_.forward_s / count)},
                                {"backward_ms", milliseconds(sum_.backward_s / count)},
                                {"communication_ms", milliseconds(sum_.communication_s / count)},
                                {"optimizer_ms", milliseconds(sum_.optimizer_s / count)}};
    if (ceiling) line["ceiling_gflops"] = std::llround(sums[2] * 1e-9);
    if (last_.hidden_share) line["hidden"] = *last_.hidden_share;
    return line;
}

}  // namespace lockstep::bench

// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/train_step.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/reduce.hpp"

namespace lockstep::train {
namespace {

// A run whose gradients are never finite learns nothing; a single bad step is survived.
constexpr int most_nonfinite_in_a_row = 10;

double nearest_power_of_two(std::int64_t tokens) {
    return std::exp2(std::round(std::log2(static_cast<double>(std::max<std::int64_t>(1, tokens)))));
}

void describe_losses(StepReport& report, const StepVector& totals) {
    const double tokens = totals[StepSum::tokens];
    report.tokens = tokens;
    report.rows = totals[StepSum::rows];
    report.truncated_rows = totals[StepSum::truncated_rows];
    report.lanes = std::llround(totals[StepSum::lanes_with_rows]);
    if (tokens <= 0) return;
    report.loss = totals[StepSum::loss] / tokens;
    report.ppl = std::exp(totals[StepSum::nll] / tokens);
    report.token_acc = totals[StepSum::correct] / tokens;
}

void describe_reduction(StepReport& report, const Reduction& reduction) {
    report.communication_s = reduction.blocked_s;
    report.bucket_s = reduction.bucket_s;
    report.bucket_blocked_s = reduction.bucket_blocked_s;
    report.last_bucket_s = reduction.last_bucket_s;
    report.hidden_share = reduction.hidden_share();
}

}  // namespace

TrainStep::TrainStep(const TrainOptions& options, StepParts parts)
    : parts_(parts),
      gradient_clip_(options.optimizer.gradient_clip),
      reducer_(parts.context, parts.communicator, parts.trace, parts.store.gradient(),
               plan_buckets(parts.model.parameters(), options.reducer), options.reducer) {}

TrainStep::Result TrainStep::take(const std::vector<Batch>& lanes, const Schedule& schedule,
                                  StepVector local, TrainerState& state) {
    prepare(schedule, state);
    accumulate(lanes, local);
    // Travels with the buckets and is waited for with them.
    parts_.communicator.all_reduce(local.values(), comm::Reduction::sum, "step vector");
    const Reduction reduction = reducer_.finish();

    Result result{{}, local};
    StepReport& report = result.report;
    describe_losses(report, local);
    describe_reduction(report, reduction);
    const double tokens = local[StepSum::tokens];
    report.gnorm = std::sqrt(reduction.sum_of_squares) /
                   (static_cast<double>(step_state_.loss_seed) * std::max(1.0, tokens));
    report.lr = static_cast<double>(step_state_.lr);
    report.outcome = outcome(local, reduction);

    ++state.step;
    state.rows += std::llround(report.rows);
    state.tokens += std::llround(tokens);
    state.update_tokens = std::max<std::int64_t>(1, std::llround(tokens));
    if (report.outcome == Outcome::not_finite) {
        if (++state.nonfinite_in_a_row >= most_nonfinite_in_a_row) throw_not_finite(state, local);
    } else if (report.outcome == Outcome::updated) {
        update(tokens, report, state);
        state.nonfinite_in_a_row = 0;
    }
    report.step = state.step;
    report.updates = state.updates;
    const ModelSeconds seconds = parts_.model.take_seconds();
    report.forward_s = seconds.forward;
    report.backward_s = seconds.backward;
    return result;
}

void TrainStep::prepare(const Schedule& schedule, const TrainerState& state) {
    step_state_.seed = state.seed;
    step_state_.step = static_cast<std::uint64_t>(state.step);
    step_state_.updates = static_cast<std::uint64_t>(state.updates);
    step_state_.lr = static_cast<float>(schedule.rate(state.updates));
    // A power of two: scaling by it is exact, so neither the guess nor the step before matters.
    step_state_.loss_seed = static_cast<float>(1 / nearest_power_of_two(state.update_tokens));
    kernels::fill_zero(parts_.context, parts_.store.gradient());
}

void TrainStep::accumulate(const std::vector<Batch>& lanes, StepVector& local) {
    const auto last = std::find_if(lanes.rbegin(), lanes.rend(),
                                   [](const Batch& batch) { return !batch.empty(); });
    const Batch* const last_batch = last == lanes.rend() ? nullptr : &*last;
    NoSink more_follow;
    for (const Batch& batch : lanes) {
        local[StepSum::lanes] += 1;
        if (batch.empty()) continue;
        GradientSink& sink = &batch == last_batch ? static_cast<GradientSink&>(reducer_)
                                                  : static_cast<GradientSink&>(more_follow);
        const auto begin = Clock::now();
        kernels::LossSums sums;
        parts_.model.train(batch, &step_state_, &sums, sink);
        local.add(sums);
        parts_.trace.add("step", "forward and backward", begin, Clock::now());
        local[StepSum::lanes_with_rows] += 1;
        local[StepSum::rows] += static_cast<double>(batch.rows.size());
        local[StepSum::truncated_rows] += static_cast<double>(batch.truncated_rows);
    }
    // The other ranks still need this one's zeros.
    if (last_batch == nullptr) reducer_.ready(0, parts_.store.gradient().size());
}

// From reduced values only, hence alike on every rank.
Outcome TrainStep::outcome(const StepVector& totals, const Reduction& reduction) const {
    if (totals[StepSum::nonfinite_losses] > 0 || !std::isfinite(reduction.sum_of_squares))
        return Outcome::not_finite;
    return totals[StepSum::tokens] > 0 ? Outcome::updated : Outcome::no_tokens;
}

void TrainStep::update(double tokens, StepReport& report, TrainerState& state) {
    // As torch's clip_grad_norm_.
    const double clip =
        gradient_clip_ > 0 ? std::min(1.0, gradient_clip_ / (report.gnorm + 1e-6)) : 1.0;
    report.clipped = clip < 1 ? 1 : 0;
    step_state_.gradient_scale =
        static_cast<float>(clip / (static_cast<double>(step_state_.loss_seed) * tokens));
    const comm::PhaseScope phase(parts_.whereabouts, comm::Phase::optimizer);
    const auto begin = Clock::now();
    parts_.optimizer.update(&step_state_);
    const auto end = Clock::now();
    report.optimizer_s = seconds_between(begin, end);
    parts_.trace.add("step", "optimizer", begin, end);
    ++state.updates;
}

void TrainStep::throw_not_finite(const TrainerState& state, const StepVector& totals) {
    std::string where = "the loss of " +
                        std::to_string(static_cast<int>(totals[StepSum::nonfinite_losses])) +
                        " micro-batches";
    for (const Parameter& parameter : parts_.model.parameters().all()) {
        const auto part = parts_.store.gradient().subview(parameter.offset, parameter.count);
        if (kernels::count_nonfinite(parts_.context, part) == 0) continue;
        where = "first in the gradient of " + parameter.name;
        break;
    }
    throw Error(ErrorKind::numeric, "loss or gradient was not finite in " +
                                        std::to_string(state.nonfinite_in_a_row) +
                                        " steps in a row, the last one step " +
                                        std::to_string(state.step) + " (" + where +
                                        "): lower --learningrate, lengthen --warmup-updates or set "
                                        "--gradient-clip");
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/dry_traffic.hpp"

#include <algorithm>

#include "runtime/batch/lane_range.hpp"

namespace lockstep::launcher::plan {

namespace {

constexpr std::int64_t first_middle_and_last = 3;

// Adds `times` of what `more` sends in addition to `less`.
std::int64_t extended(std::int64_t less, std::int64_t more, std::int64_t times) {
    return more + times * (more - less);
}

}  // namespace

train::TrainOptions with_few_lanes(train::TrainOptions options, int ranks) {
    if (options.reducer.lane_order == train::LaneOrder::any)
        options.lanes = std::min<std::int64_t>(options.lanes, ranks);
    return options;
}

train::StepTraffic traffic_in_step(model::DryModel& dry, train::TrainOptions options,
                                   const Sender& sender) {
    const int ranks = sender.place.ranks;
    if (ranks == 1 && train::ranks_of_place(options) == 1) return {};
    const auto sent = [&](const train::TrainOptions& with) {
        const train::DryStep step = dry.step(with, sender.master, sender.place);
        return train::step_traffic(step.tape, step.mesh, sender.half_sums);
    };
    const std::int64_t passes = train::lanes_of_rank(options.lanes, 0, ranks).count();
    if (options.zero.stage < 2) return sent(with_few_lanes(options, ranks));
    const auto with_passes = [&](std::int64_t number) {
        options.lanes = number * ranks;
        return sent(options);
    };
    if (passes <= first_middle_and_last) return with_passes(std::max<std::int64_t>(1, passes));
    const train::StepTraffic less = with_passes(first_middle_and_last - 1);
    const train::StepTraffic more = with_passes(first_middle_and_last);
    const std::int64_t left = passes - first_middle_and_last;
    return {extended(less.weights, more.weights, left),
            extended(less.gradients, more.gradients, left),
            extended(less.replicas, more.replicas, left), more.tensor, more.pipeline};
}

}  // namespace lockstep::launcher::plan

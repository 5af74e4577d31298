// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fit.hpp"

#include <algorithm>

#include "launcher/plan/recompute_levels.hpp"

namespace lockstep::launcher::plan {

namespace {

using model::Recompute;
using model::RecomputePlan;

}  // namespace

double added_time(const Savings& savings, std::int64_t layers) {
    constexpr double all_products = 72, in_ffn = 8, in_layer = 16, coded_update = 0.03;
    const double moments = savings.moments == train::Moments::int8 ? coded_update : 0;
    const RecomputePlan& plan = savings.recompute;
    const double share = static_cast<double>(std::min(plan.layers, layers)) /
                         static_cast<double>(std::max<std::int64_t>(layers, 1));
    if (plan.level == Recompute::ffn) return moments + share * in_ffn / all_products;
    if (plan.level == Recompute::layer) return moments + share * in_layer / all_products;
    return moments;
}

Savings fastest_that_fits(const FitChoices& choices,
                          const std::function<bool(const Savings&)>& fits) {
    std::optional<Savings> best;
    for (const train::Moments moments : choices.moments) {
        const auto with = [&](const RecomputePlan& plan) { return fits({moments, plan}); };
        std::vector<RecomputePlan> plans{{}, {Recompute::ffn}};
        plans.push_back(fewest_layers(choices.layers, with));
        if (choices.recompute) plans = {*choices.recompute};
        for (const RecomputePlan& plan : plans) {
            const Savings candidate{moments, plan};
            const double time = added_time(candidate, choices.layers);
            if (best && added_time(*best, choices.layers) <= time) continue;
            if (fits(candidate)) best = candidate;
        }
    }
    if (best) return *best;
    return {choices.moments.back(), choices.recompute.value_or(RecomputePlan{Recompute::layer})};
}

}  // namespace lockstep::launcher::plan

// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fit.hpp"

#include <algorithm>

#include "launcher/plan/recompute_levels.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::plan {

namespace {

using model::Recompute;
using model::RecomputePlan;

std::vector<RecomputePlan> candidates(const FitChoices& choices, train::Moments moments,
                                      train::Saving saving,
                                      const std::function<bool(const Savings&)>& fits) {
    if (choices.recompute) return {*choices.recompute};
    const auto with = [&](const RecomputePlan& plan) { return fits({moments, plan, saving}); };
    return {{}, {Recompute::ffn}, fewest_layers(choices.layers, with)};
}

}  // namespace

std::string name(const FitChoices& choices) {
    std::vector<std::string> options;
    if (choices.moments.size() > 1) options.emplace_back("--moments fp32 or int8");
    if (!choices.recompute) options.emplace_back("--recompute none, ffn, layer:N or layer");
    if (choices.saving.size() > 1) options.emplace_back("--async-save true or false");
    return options.empty() ? "no other option" : joined(options);
}

double added_time(const Savings& savings, std::int64_t layers) {
    constexpr double all_products = 72, in_ffn = 8, in_layer = 16;
    constexpr double coded_update = 0.03, waiting_for_saves = 0.01;
    const double state = (savings.moments == train::Moments::int8 ? coded_update : 0) +
                         (savings.saving == train::Saving::training_waits ? waiting_for_saves : 0);
    const RecomputePlan& plan = savings.recompute;
    const double share = static_cast<double>(std::min(plan.layers, layers)) /
                         static_cast<double>(std::max<std::int64_t>(layers, 1));
    if (plan.level == Recompute::ffn) return state + share * in_ffn / all_products;
    if (plan.level == Recompute::layer) return state + share * in_layer / all_products;
    return state;
}

Savings fastest_that_fits(const FitChoices& choices,
                          const std::function<bool(const Savings&)>& fits) {
    std::optional<Savings> best;
    for (const train::Moments moments : choices.moments) {
        for (const train::Saving saving : choices.saving) {
            for (const RecomputePlan& plan : candidates(choices, moments, saving, fits)) {
                const Savings candidate{moments, plan, saving};
                const double time = added_time(candidate, choices.layers);
                if (best && added_time(*best, choices.layers) <= time) continue;
                if (fits(candidate)) best = candidate;
            }
        }
    }
    if (best) return *best;
    return {choices.moments.back(), choices.recompute.value_or(RecomputePlan{Recompute::layer}),
            choices.saving.back()};
}

}  // namespace lockstep::launcher::plan

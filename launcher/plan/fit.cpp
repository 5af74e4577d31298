// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/fit.hpp"

#include <algorithm>
#include <array>

#include "launcher/plan/recompute_levels.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::plan {

namespace {

using model::Recompute;
using model::RecomputePlan;

// Returns all that the choices leave besides what is calculated again.
std::vector<Savings> states(const FitChoices& choices) {
    std::vector<Savings> all;
    for (const train::Moments moments : choices.moments)
        for (const train::Saving saving : choices.saving)
            for (const int stage : choices.stages) all.push_back({moments, {}, saving, stage});
    return all;
}

std::vector<RecomputePlan> candidates(const FitChoices& choices, Savings state,
                                      const std::function<bool(const Savings&)>& fits) {
    if (choices.recompute) return {*choices.recompute};
    const auto with = [&](const RecomputePlan& plan) {
        state.recompute = plan;
        return fits(state);
    };
    return {{}, {Recompute::ffn}, fewest_layers(choices.layers, with)};
}

}  // namespace

std::string name(const FitChoices& choices) {
    std::vector<std::string> options;
    if (choices.moments.size() > 1) options.emplace_back("--moments fp32 or int8");
    if (!choices.recompute) options.emplace_back("--recompute none, ffn, layer:N or layer");
    if (choices.stages.size() > 1) options.emplace_back("--zero 0 to 3");
    if (choices.saving.size() > 1) options.emplace_back("--async-save true or false");
    return options.empty() ? "no other option" : joined(options);
}

double added_time(const Savings& savings, std::int64_t layers) {
    constexpr double all_products = 72, in_ffn = 8, in_layer = 16;
    constexpr double coded_update = 0.03, waiting_for_saves = 0.01;
    constexpr std::array sharing{0.0, 0.005, 0.02, 0.1};
    const double state = (savings.moments == train::Moments::int8 ? coded_update : 0) +
                         (savings.saving == train::Saving::training_waits ? waiting_for_saves : 0) +
                         sharing.at(static_cast<std::size_t>(savings.stage));
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
    for (Savings candidate : states(choices)) {
        for (const RecomputePlan& plan : candidates(choices, candidate, fits)) {
            candidate.recompute = plan;
            const double time = added_time(candidate, choices.layers);
            if (best && added_time(*best, choices.layers) <= time) continue;
            if (fits(candidate)) best = candidate;
        }
    }
    if (best) return *best;
    return {choices.moments.back(), choices.recompute.value_or(RecomputePlan{Recompute::layer}),
            choices.saving.back(), choices.stages.back()};
}

}  // namespace lockstep::launcher::plan

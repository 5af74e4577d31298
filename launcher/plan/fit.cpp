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

bool go_together(train::Offload offload, train::Moments moments) {
    return offload == train::Offload::none || moments == train::Moments::fp32;
}

// Returns all that the choices leave besides what is calculated again.
std::vector<Savings> states(const FitChoices& choices) {
    std::vector<Savings> all;
    for (const train::Offload offload : choices.offload)
        for (const train::Moments moments : choices.moments) {
            if (!go_together(offload, moments)) continue;
            for (const train::Saving saving : choices.saving)
                for (const int stage : choices.stages)
                    all.push_back({moments, {}, saving, stage, offload});
        }
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

Savings smallest(const FitChoices& choices,
                 const std::function<std::int64_t(const Savings&)>& bytes) {
    std::vector<RecomputePlan> levels{{Recompute::layer}, {}, {Recompute::ffn}};
    if (choices.recompute) levels = {*choices.recompute};
    std::vector<Savings> all;
    for (const RecomputePlan& level : levels)
        for (Savings one : states(choices)) {
            one.recompute = level;
            all.push_back(one);
        }
    return *std::ranges::min_element(all, {}, bytes);
}

}  // namespace

std::string name(const FitChoices& choices) {
    std::vector<std::string> options;
    if (choices.moments.size() > 1) options.emplace_back("--moments fp32 or int8");
    if (!choices.recompute) options.emplace_back("--recompute none, ffn, layer:N or layer");
    if (choices.stages.size() > 1)
        options.push_back("--zero " + std::to_string(choices.stages.front()) + " to " +
                          std::to_string(choices.stages.back()));
    if (choices.saving.size() > 1) options.emplace_back("--async-save true or false");
    if (choices.offload.size() > 1) options.emplace_back("--offload none or optimizer");
    return options.empty() ? "no other option" : joined(options);
}

double added_time(const Savings& savings, const FitChoices& choices) {
    constexpr double coded_update = 0.03, waiting_for_saves = 0.01, by_host = 0.5;
    constexpr std::array sharing{0.0, 0.005, 0.02, 0.1};
    return choices.calculated_again(savings.recompute) +
           (savings.moments == train::Moments::int8 ? coded_update : 0) +
           (savings.saving == train::Saving::training_waits ? waiting_for_saves : 0) +
           (savings.offload == train::Offload::optimizer ? by_host : 0) +
           sharing.at(static_cast<std::size_t>(savings.stage));
}

Savings fastest_that_fits(const FitChoices& choices,
                          const std::function<std::int64_t(const Savings&)>& bytes,
                          std::int64_t room) {
    const auto fits = [&](const Savings& savings) { return bytes(savings) <= room; };
    std::optional<Savings> best;
    double best_time = 0;
    for (Savings candidate : states(choices)) {
        for (const RecomputePlan& plan : candidates(choices, candidate, fits)) {
            candidate.recompute = plan;
            const double time = added_time(candidate, choices);
            if ((best && best_time <= time) || !fits(candidate)) continue;
            best = candidate;
            best_time = time;
        }
    }
    return best ? *best : smallest(choices, bytes);
}

}  // namespace lockstep::launcher::plan

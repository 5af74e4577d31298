// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/recompute_levels.hpp"

#include <algorithm>

namespace lockstep::launcher::plan {

using model::Recompute;
using model::RecomputePlan;

std::vector<RecomputePlan> compared_levels(const RecomputePlan& chosen) {
    std::vector<RecomputePlan> levels{{}, {Recompute::ffn}, {Recompute::layer}};
    if (std::ranges::find(levels, chosen) == levels.end()) levels.insert(levels.end() - 1, chosen);
    return levels;
}

RecomputePlan fewest_layers(std::int64_t layers,
                            const std::function<bool(const RecomputePlan&)>& fits) {
    std::int64_t too_few = 0, enough = layers;
    while (enough - too_few > 1) {
        const std::int64_t middle = (too_few + enough) / 2;
        (fits({Recompute::layer, middle}) ? enough : too_few) = middle;
    }
    return enough == layers ? RecomputePlan{Recompute::layer}
                            : RecomputePlan{Recompute::layer, enough};
}

RecomputePlan least_that_fits(std::int64_t layers,
                              const std::function<std::int64_t(const RecomputePlan&)>& bytes,
                              std::int64_t room) {
    const auto fits = [&](const RecomputePlan& plan) { return bytes(plan) <= room; };
    const RecomputePlan none{}, ffn{Recompute::ffn}, layer{Recompute::layer};
    if (fits(none)) return none;
    if (fits(ffn)) return ffn;
    const RecomputePlan fewest = fewest_layers(layers, fits);
    if (fewest != layer || fits(layer)) return fewest;
    return std::min({none, ffn, layer}, [&](const RecomputePlan& a, const RecomputePlan& b) {
        return bytes(a) < bytes(b);
    });
}

}  // namespace lockstep::launcher::plan

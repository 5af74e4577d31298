// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/recompute.hpp"

namespace lockstep::launcher::plan {

// Returns the levels that plans compare: none, ffn, layer, and `chosen` if it is another one.
std::vector<model::RecomputePlan> compared_levels(const model::RecomputePlan& chosen);

// Returns layer:N with the smallest N that fits, or layer, which may not fit. More layers must not
// take more memory.
model::RecomputePlan fewest_layers(std::int64_t layers,
                                   const std::function<bool(const model::RecomputePlan&)>& fits);

// Returns the first of none, ffn, layer:1, layer:2, ... and layer that takes no more than `room`
// bytes, for stacks of `layers` layers. If none fits, returns the one of none, ffn and layer that
// takes the least. More layers must not take more memory.
model::RecomputePlan least_that_fits(
    std::int64_t layers, const std::function<std::int64_t(const model::RecomputePlan&)>& bytes,
    std::int64_t room);

}  // namespace lockstep::launcher::plan

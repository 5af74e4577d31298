// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "model/config.hpp"
#include "runtime/device/traits.hpp"

namespace lockstep::model {

using device::Recompute;

// Says what backward calculates again to save memory: `level` in the first `layers` layers of each
// stack, and in the others what the device calculates again anyway. The results are the same bit
// for bit.
struct RecomputePlan {
    static constexpr std::int64_t all_layers = std::numeric_limits<std::int64_t>::max();

    Recompute level = Recompute::nothing;
    std::int64_t layers = all_layers;

    bool operator==(const RecomputePlan&) const = default;
};

template <class Ctx>
Recompute level_of(const RecomputePlan& plan, std::size_t layer) noexcept {
    const bool planned = static_cast<std::int64_t>(layer) < plan.layers;
    return planned ? std::max(Ctx::recompute, plan.level) : Ctx::recompute;
}

// Returns the number of layers of the model's largest stack.
std::int64_t stack_layers(const ModelConfig& config) noexcept;

// Returns the plan as users write it: "none", "ffn", "layer" or "layer:N".
std::string name(const RecomputePlan& plan);

// Throws kind config if the plan names more layers than the model has.
void require_layers(const RecomputePlan& plan, const ModelConfig& config);

}  // namespace lockstep::model

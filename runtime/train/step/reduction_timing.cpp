// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/reduction_timing.hpp"

#include <algorithm>

namespace lockstep::train {

std::optional<double> hidden_share(double bucket_blocked_s, double bucket_s) noexcept {
    if (bucket_s <= 0) return std::nullopt;
    return std::clamp(1 - bucket_blocked_s / bucket_s, 0.0, 1.0);
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels::cuda {

enum class Masking { off, on };

// The part of a dropout site that kernels need. The seed and the step stay in the device's memory.
struct Mask {
    const StepState* state = nullptr;
    const std::uint32_t* rows = nullptr;
    const std::int32_t* positions = nullptr;
    std::uint32_t site = 0;
    std::uint32_t threshold = 0;  // an element whose word is below it is dropped
    float scale = 1;
};

// Returns the factor of kept elements.
inline float kept_scale(const Dropout& site) {
    require(site.rate < 1, "dropout needs a rate below 1");
    return static_cast<float>(1.0 / (1.0 - double{site.rate}));
}

inline Mask mask_of(const Dropout& site, const TokenCoordinates<CudaSpace>& coordinates,
                    std::int64_t tokens) {
    if (!site.active()) return {};
    require(site.rate < 1 && site.state != nullptr,
            "dropout needs a rate below 1 and the step's state");
    require(coordinates.rows.size() >= static_cast<std::size_t>(tokens) &&
                coordinates.positions.size() >= static_cast<std::size_t>(tokens),
            "dropout needs every token's coordinates");
    return {site.state,
            coordinates.rows.data(),
            coordinates.positions.data(),
            site.site,
            static_cast<std::uint32_t>(std::ceil(double{site.rate} * 0x1p32)),
            kept_scale(site)};
}

}  // namespace lockstep::kernels::cuda

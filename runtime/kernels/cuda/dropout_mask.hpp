// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels::cuda {

enum class Masking { off, on };

// What a kernel needs of a dropout site; the seed and the step stay in the device's memory.
struct Mask {
    const StepState* state = nullptr;
    const std::uint32_t* rows = nullptr;
    const std::int32_t* positions = nullptr;
    std::uint32_t site = 0;
    std::uint32_t threshold = 0;  // a word below it drops its element
    float scale = 1;
};

// What kept elements are multiplied with.
inline float kept_scale(const Dropout& site) {
    require(site.rate < 1, "dropout needs a rate below 1");
    return static_cast<float>(1.0 / (1.0 - double{site.rate}));
}

inline Mask mask_of(const Dropout& site, const TokenPlaces<CudaSpace>& places,
                    std::int64_t tokens) {
    if (!site.active()) return {};
    require(site.rate < 1 && site.state != nullptr,
            "dropout needs a rate below 1 and the step's state");
    require(places.rows.size() >= static_cast<std::size_t>(tokens) &&
                places.positions.size() >= static_cast<std::size_t>(tokens),
            "dropout needs every token's place");
    return {site.state,
            places.rows.data(),
            places.positions.data(),
            site.site,
            static_cast<std::uint32_t>(std::ceil(double{site.rate} * 0x1p32)),
            kept_scale(site)};
}

__device__ __forceinline__ std::uint64_t mask_key(const Mask& mask) {
    return mix(mask.state->seed, mask.state->step);
}

// factors[j] is scale or 0, for `width` columns of a token from `first` on. A width of 4 or more is
// a multiple of 4, and `first` too; a width of 1 makes four words and uses one.
template <int width>
__device__ __forceinline__ void mask_factors(const Mask& mask, std::uint64_t key,
                                             std::int64_t token, std::int64_t first,
                                             float (&factors)[width]) {
    const std::uint32_t row = mask.rows[token];
    const auto position = static_cast<std::uint32_t>(mask.positions[token]);
#pragma unroll
    for (int j = 0; j < width; j += 4) {
        const PhiloxBlock words =
            philox({mask.site, row, position, static_cast<std::uint32_t>((first + j) / 4)}, key);
        if constexpr (width == 1) {
            const auto word = static_cast<unsigned>(first % 4);
            const std::uint32_t chosen =
                word < 2 ? (word == 0 ? words[0] : words[1]) : (word == 2 ? words[2] : words[3]);
            factors[0] = chosen < mask.threshold ? 0.0f : mask.scale;
        } else {
#pragma unroll
            for (int w = 0; w < 4; ++w)
                factors[j + w] =
                    words[static_cast<unsigned>(w)] < mask.threshold ? 0.0f : mask.scale;
        }
    }
}

// values *= the mask of a token's columns from `first` on.
template <Masking masking, int width>
__device__ __forceinline__ void apply_mask(const Mask& mask, std::int64_t token, std::int64_t first,
                                           float (&values)[width]) {
    if constexpr (masking == Masking::on) {
        float factors[width];
        mask_factors(mask, mask_key(mask), token, first, factors);
#pragma unroll
        for (int j = 0; j < width; ++j) values[j] *= factors[j];
    }
}

}  // namespace lockstep::kernels::cuda

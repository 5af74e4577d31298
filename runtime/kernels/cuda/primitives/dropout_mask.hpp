// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/cuda/primitives/mask.hpp"

namespace lockstep::kernels::cuda {

__device__ __forceinline__ std::uint64_t mask_key(const Mask& mask) {
    return mix(mask.state->seed, mask.state->step);
}

// The values that the masks of all columns of a token share. They are read once for several
// columns: stores in between would make the compiler read them again.
struct MaskedToken {
    std::uint64_t key = 0;
    std::uint32_t row = 0, position = 0;
};
template <Masking masking>
__device__ __forceinline__ MaskedToken masked_token(const Mask& mask, std::int64_t token) {
    if constexpr (masking == Masking::off) return {};
    return {mask_key(mask), mask.rows[token], static_cast<std::uint32_t>(mask.positions[token])};
}

// Sets factors[j] to scale or 0, for `width` columns of a token from `first` on. A width of 4 or
// more is a multiple of 4, and so is `first`; a width of 1 makes four words and uses one.
template <int width>
__device__ __forceinline__ void mask_factors(const Mask& mask, const MaskedToken& token,
                                             std::int64_t first, float (&factors)[width]) {
#pragma unroll
    for (int j = 0; j < width; j += 4) {
        const PhiloxBlock words = philox<dropout_rounds>(
            {mask.site, token.row, token.position, static_cast<std::uint32_t>((first + j) / 4)},
            token.key);
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

// Multiplies values by the mask of a token's columns from `first` on.
template <Masking masking, int width>
__device__ __forceinline__ void apply_mask(const Mask& mask, const MaskedToken& token,
                                           std::int64_t first, float (&values)[width]) {
    if constexpr (masking == Masking::on) {
        float factors[width];
        mask_factors(mask, token, first, factors);
#pragma unroll
        for (int j = 0; j < width; ++j) values[j] *= factors[j];
    }
}
template <Masking masking, int width>
__device__ __forceinline__ void apply_mask(const Mask& mask, std::int64_t token, std::int64_t first,
                                           float (&values)[width]) {
    apply_mask<masking>(mask, masked_token<masking>(mask, token), first, values);
}

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/flat_kernels.hpp"
#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels::cuda {

// The weights that an optimizer updates: the fp32 master and the copy that computes, or only that
// copy. Either pointer may be null, but not both.
template <class T>
struct Weights {
    float* master;
    T* compute;

    template <int width>
    __device__ __forceinline__ void read(std::int64_t i, float (&values)[width]) const {
        if (master != nullptr)
            load(master + i, values);
        else
            load(compute + i, values);
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, const float (&values)[width]) const {
        if (master != nullptr) store(master + i, values);
        if (compute != nullptr) store(compute + i, values);
    }
};

template <class T>
Weights<T> weights_of(CudaView<float> master, CudaView<T> compute) noexcept {
    return {master.data(), compute.data()};
}

// Says which elements decay, like kernels::DecayLines. A vector of flat_width elements lies in one
// line, so that a warp reads one word, from the first-level cache.
struct DecayBits {
    const std::uint32_t* words;  // null: all

    __device__ __forceinline__ bool at(std::int64_t element) const {
        static_assert(decay_line % flat_width == 0);
        if (words == nullptr) return true;
        const auto line = static_cast<std::uint64_t>(element) / decay_line;
        return (words[line / 32] >> line % 32 & 1) != 0;
    }
};

inline DecayBits decay_bits(DecayLines<CudaSpace> lines) noexcept {
    return {lines.empty() ? nullptr : lines.data()};
}

}  // namespace lockstep::kernels::cuda

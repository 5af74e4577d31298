// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "instructions/convert.hpp"
#include "instructions/memory.hpp"
#include "runtime/core/view.hpp"

namespace lockstep::kernels::cuda {

// The number of elements in one 16-byte access.
template <class T>
constexpr int vector_width = static_cast<int>(16 / sizeof(T));

// Returns whether rows that start at `data`, `stride` elements apart and `cols` long, can be read
// by vectors.
template <class T>
bool by_vectors(const T* data, std::int64_t cols, std::int64_t stride) noexcept {
    constexpr std::int64_t width = vector_width<T>;
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && cols % width == 0 &&
           stride % width == 0;
}
template <class T>
bool by_vectors(const CudaMatrix<T>& m) noexcept {
    return m.data == nullptr || by_vectors(m.data, m.cols, m.stride);
}

// Loads `width` values and widens them to float. width is a multiple of vector_width<T> with `from`
// aligned to 16 bytes, or half of vector_width<T> with `from` aligned to 8 bytes, or 1.
template <int width, class T>
__device__ __forceinline__ void load(const T* from, float (&values)[width]) {
    if constexpr (width == 1) {
        values[0] = widen(*from);
    } else if constexpr (width * sizeof(T) == 8) {
        const uint2 words = load8(from);
        widen_pair(words.x, values, T{});
        widen_pair(words.y, values + 2, T{});
    } else {
        static_assert(width % vector_width<T> == 0);
#pragma unroll
        for (int part = 0; part < width / vector_width<T>; ++part)
            widen_words(load16(from + part * vector_width<T>), values + part * vector_width<T>,
                        T{});
    }
}

// A vector as it is stored in memory. If a condition precedes a load, widening at once would make
// the next load wait for it.
template <int width, class T>
struct Packed {
    uint4 words[width / vector_width<T>];
};
template <class T>
struct Packed<1, T> {
    T value{};
};
template <int width, class T>
__device__ __forceinline__ void load(const T* from, Packed<width, T>& packed) {
    if constexpr (width == 1) {
        packed.value = *from;
    } else {
#pragma unroll
        for (int part = 0; part < width / vector_width<T>; ++part)
            packed.words[part] = load16(from + part * vector_width<T>);
    }
}
template <int width, class T>
__device__ __forceinline__ void unpack(const Packed<width, T>& packed, float (&values)[width]) {
    if constexpr (width == 1) {
        values[0] = widen(packed.value);
    } else {
#pragma unroll
        for (int part = 0; part < width / vector_width<T>; ++part)
            widen_words(packed.words[part], values + part * vector_width<T>, T{});
    }
}

// Narrows the values to T and stores them, with the widths and alignments of load().
template <int width, class T>
__device__ __forceinline__ void store(T* to, const float (&values)[width]) {
    if constexpr (width == 1) {
        *to = narrow<T>(values[0]);
    } else if constexpr (width * sizeof(T) == 8) {
        store8(to,
               {narrow_pair(values[0], values[1], T{}), narrow_pair(values[2], values[3], T{})});
    } else {
        static_assert(width % vector_width<T> == 0);
#pragma unroll
        for (int part = 0; part < width / vector_width<T>; ++part)
            store16(to + part * vector_width<T>,
                    narrow_words(values + part * vector_width<T>, T{}));
    }
}

}  // namespace lockstep::kernels::cuda

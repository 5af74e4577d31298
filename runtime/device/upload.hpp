// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>

#include "runtime/core/view.hpp"
#include "runtime/device/cpu_context.hpp"

namespace lockstep::device {

// Copies a group of small host arrays to memory that the device reads: call begin(), then add() for
// each array, then finish(). After finish() the caller may change the arrays, and work queued
// before the next begin() may read the views. `bytes` is the total size of the arrays; there are at
// most 32. Arrays of the same sizes get the same addresses while moves() stays the same.
template <class Ctx>
class Upload;

// upload_capacity() is the size of each of an Upload's slots, in the GPU's memory and in pinned
// memory. On the GPU there are uploads_held buffers of that size: the slots, and the memory that
// kernels read.
constexpr std::size_t upload_alignment = 64, max_uploaded_arrays = 32;
constexpr std::size_t upload_slots = 3, uploads_held = upload_slots + 1;
constexpr std::size_t upload_capacity(std::size_t bytes) noexcept {
    return std::bit_ceil(bytes + max_uploaded_arrays * upload_alignment);
}

// The CPU copies nothing: the views refer to the arrays themselves, which must outlive them.
template <>
class Upload<CpuContext> {
public:
    explicit Upload(CpuContext&) {}

    void begin(std::size_t /*bytes*/) {}
    template <class T>
    HostView<const T> add(HostView<const T> values) {
        return values;
    }
    // A GPU extends the array to `size` elements by repeating its last value, for launches of that
    // size. The CPU returns the array as it is.
    template <class T>
    HostView<const T> add(HostView<const T> values, std::size_t /*size*/) {
        return values;
    }
    void finish() {}
    std::int64_t moves() const noexcept { return 0; }
    // Returns the bytes of the device's memory that it holds.
    std::size_t bytes() const noexcept { return 0; }
};

}  // namespace lockstep::device

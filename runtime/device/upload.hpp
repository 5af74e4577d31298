// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>

#include "runtime/core/view.hpp"
#include "runtime/device/cpu_context.hpp"

namespace lockstep::device {

// Brings small host arrays that belong together to where the device reads them: begin(), add()
// each, finish(). What they were made of may be changed then, and what is queued before the next
// begin() may read the views. `bytes`: of all of them; they are 32 at most. Arrays of the same
// sizes come to the same addresses while moves() stays the same.
template <class Ctx>
class Upload;

// What an Upload to a GPU holds, there and in pinned memory, in each slot; and of such pieces of
// the GPU's memory, where kernels read among them, there are so many.
constexpr std::size_t upload_alignment = 64, max_uploaded_arrays = 32;
constexpr std::size_t upload_slots = 3, uploads_held = upload_slots + 1;
constexpr std::size_t upload_capacity(std::size_t bytes) noexcept {
    return std::bit_ceil(bytes + max_uploaded_arrays * upload_alignment);
}

// On the CPU nothing is copied: the views are of the arrays themselves, which have to outlive them.
template <>
class Upload<CpuContext> {
public:
    explicit Upload(CpuContext&) {}

    void begin(std::size_t /*bytes*/) {}
    template <class T>
    HostView<const T> add(HostView<const T> values) {
        return values;
    }
    // With the last value repeated until there are `size`, for launches that are sized by it.
    template <class T>
    HostView<const T> add(HostView<const T> values, std::size_t /*size*/) {
        return values;
    }
    void finish() {}
    std::int64_t moves() const noexcept { return 0; }
};

}  // namespace lockstep::device

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "runtime/device/cuda_context.hpp"
#include "runtime/device/upload.hpp"

namespace lockstep::device {

// By pinned memory and the copy stream, beside what the GPU computes; the compute stream waits at
// finish(), the host only for a copy that is two begin()s old.
template <>
class Upload<CudaContext> {
public:
    explicit Upload(CudaContext& ctx);

    void begin(std::size_t bytes);
    template <class T>
    CudaView<const T> add(HostView<const T> values) {
        return {static_cast<const T*>(add_bytes(values.data(), values.size() * sizeof(T))),
                values.size()};
    }
    void finish();

private:
    struct Slot {
        PinnedBuffer<std::byte> staging;
        Buffer<std::byte, CudaSpace> arrived;
        Event copied, used;
    };

    const void* add_bytes(const void* from, std::size_t bytes);

    CudaContext& ctx_;
    std::array<Slot, 3> slots_;
    std::size_t slot_ = 0;    // the present one
    std::size_t filled_ = 0;  // bytes of it
};

}  // namespace lockstep::device

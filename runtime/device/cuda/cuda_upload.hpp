// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/upload.hpp"

namespace lockstep::device {

// Copies through pinned memory and the copy stream into one of three slots while the GPU computes;
// then the compute stream copies the data to the memory that kernels read. The host waits only for
// the copy of the begin() two calls ago.
template <>
class Upload<CudaContext> {
public:
    explicit Upload(CudaContext& ctx);

    void begin(std::size_t bytes);
    template <class T>
    CudaView<const T> add(HostView<const T> values) {
        return add(values, values.size());
    }
    template <class T>
    CudaView<const T> add(HostView<const T> values, std::size_t size) {
        require(size >= values.size() && (size == 0 || !values.empty()),
                "upload: nothing to repeat, or more than fits");
        const Place place = take(size * sizeof(T));
        auto* const to = reinterpret_cast<T*>(place.staging);
        std::copy(values.begin(), values.end(), to);
        std::fill(to + values.size(), to + size, size == 0 ? T{} : values[values.size() - 1]);
        return {reinterpret_cast<const T*>(place.device), size};
    }
    void finish();
    std::int64_t moves() const noexcept { return moves_; }
    std::size_t bytes() const noexcept {
        std::size_t bytes = present_.size();
        for (const Slot& slot : slots_) bytes += slot.arrived.size();
        return bytes;
    }

private:
    struct Slot {
        PinnedBuffer<std::byte> staging;
        Buffer<std::byte, CudaSpace> arrived;
        Event copied, used;
    };

    struct Place {
        std::byte *staging, *device;
    };

    Place take(std::size_t bytes);

    CudaContext& ctx_;
    std::array<Slot, upload_slots> slots_;
    Buffer<std::byte, CudaSpace> present_;  // memory that kernels read
    std::int64_t moves_ = 0;                // how many times present_ was replaced
    std::size_t slot_ = 0;                  // index of the current slot
    std::size_t filled_ = 0;                // used bytes of the current slot
};

}  // namespace lockstep::device

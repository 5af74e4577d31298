// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "runtime/device/buffer.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"

namespace lockstep::kernels::cpu {

// Memory that kernels keep between calls. Two uses at the same time need two slots.
class ScratchMemory {
public:
    enum class Slot { factor_a, factor_b, packed, result, sums, totals, losses, key_gradients };
    static constexpr std::size_t slots = static_cast<std::size_t>(Slot::key_gradients) + 1;

    // Returns `count` elements of undefined content, 64-byte aligned, valid until the slot's next
    // use.
    template <class T>
    HostView<T> take(Slot slot, std::int64_t count) {
        auto& buffer = buffers_[static_cast<std::size_t>(slot)];
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        if (buffer.size() < bytes) {
            buffer = device::Buffer<std::byte, HostSpace>();  // frees the old memory first
            buffer = device::Buffer<std::byte, HostSpace>(bytes, device::Content::undefined);
        }
        return {reinterpret_cast<T*>(buffer.view().data()), static_cast<std::size_t>(count)};
    }

private:
    std::array<device::Buffer<std::byte, HostSpace>, slots> buffers_;
};

template <class T>
HostView<T> scratch(device::CpuContext& ctx, ScratchMemory::Slot slot, std::int64_t count) {
    return cached<ScratchMemory>(ctx).take<T>(slot, count);
}

}  // namespace lockstep::kernels::cpu

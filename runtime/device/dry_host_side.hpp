// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/device/cpu_context.hpp"
#include "runtime/device/dry_context.hpp"
#include "runtime/device/host_side.hpp"
#include "runtime/device/memory_of.hpp"

namespace lockstep::device {

// Has a size and an address, like Buffer<T, DrySpace>, in the host's space.
template <class T>
class DryHostBuffer {
public:
    DryHostBuffer() noexcept = default;
    explicit DryHostBuffer(std::size_t size) : buffer_(size) {}

    std::size_t size() const noexcept { return buffer_.size(); }
    HostView<T> view() const noexcept { return in_host(buffer_.view()); }

private:
    Buffer<T, DrySpace> buffer_;
};

// The host's part in the work of a device that computes nothing. Its kernels must not be called.
template <class Like>
class HostSide<DryContext<Like>> final : public CpuContext {
public:
    // Leaves the number of the calling thread's threads as it is, unless OMP_THREAD_LIMIT is less.
    explicit HostSide(DryContext<Like>&)
        : CpuContext(std::min(omp_get_max_threads(), omp_get_thread_limit())) {}

    void begin() {}
    template <class T>
    void fetch(std::size_t, View<const T, DrySpace>, HostView<T>) {}
    void wait_fetched(std::size_t) {}
    template <class T>
    void send(std::size_t, HostView<const T>, View<T, DrySpace>) {}
    void wait_sent(std::size_t) {}
};

template <class T, class Like>
struct MemoryOf<T, HostSide<DryContext<Like>>> {
    using Type = DryHostBuffer<T>;
};

}  // namespace lockstep::device

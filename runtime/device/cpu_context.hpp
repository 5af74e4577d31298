// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "runtime/core/trace.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/device/traits.hpp"

namespace lockstep::device {

// Represents the CPU as a device: a number of threads, and a cache of oneDNN primitives per shape.
// Use it only from the thread that built it. Every rank has its own, also if ranks are threads of
// one process.
class CpuContext : public CpuTraits {
public:
    using Space = HostSpace;
    static constexpr std::string_view name = "cpu";

    // Kernels keep state between calls in a subclass of this, such as a cache of primitives.
    class KernelCache {
    public:
        virtual ~KernelCache() = default;
    };

    // Starts the threads. Throws kind config if OpenMP does not give so many.
    explicit CpuContext(int threads);
    ~CpuContext();
    CpuContext(const CpuContext&) = delete;
    CpuContext& operator=(const CpuContext&) = delete;

    int threads() const noexcept { return threads_; }
    void synchronize() noexcept {}

    DeviceTimestamp mark() const noexcept { return {Clock::now().time_since_epoch().count()}; }
    static Clock::time_point time_of(DeviceTimestamp mark) noexcept {
        return Clock::time_point(Clock::duration(mark.value));
    }

    // Returns the cache of that type and creates it at the first call.
    template <class Cache>
    Cache& cache() {
        if (!cache_) cache_ = std::make_unique<Cache>();
        return static_cast<Cache&>(*cache_);
    }

private:
    int threads_;
    std::unique_ptr<KernelCache> cache_;
};

template <class T>
void copy(CpuContext&, HostView<const T> from, HostView<T> to) {
    require(from.size() == to.size(), "copy: sizes differ");
    std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace lockstep::device

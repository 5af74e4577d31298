// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>

#include "runtime/core/trace.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/cuda/cuda_handles.hpp"
#include "runtime/device/cuda/cuda_memory.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/device/traits.hpp"

namespace lockstep::device {

// What kernels are shaped by.
struct GpuProperties {
    int compute_capability = 0;  // 90 for 9.0
    int multiprocessors = 0;
    std::size_t max_shared_bytes = 0;  // that one block can ask for
    std::size_t l2_bytes = 0;

    // How many multiprocessors collectives may take, a block each; 0: as many as they like. On
    // Hopper 16 are what NCCL itself takes where a switch adds up (NVLS); a Blackwell's needs more,
    // which NCCL knows.
    int for_collectives() const noexcept {
        constexpr int most = 16;
        return compute_capability >= 100 ? 0 : std::min(most, multiprocessors / 2);
    }
};

// One GPU: its streams, and what kernels keep between calls. Used from the one thread that built
// it, whose current device it sets. Kernels run on stream(), in the order of their calls, and
// return before they have run.
class CudaContext : public CudaTraits {
public:
    using Space = CudaSpace;
    static constexpr std::string_view name = "cuda";

    explicit CudaContext(int device);
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    int device() const noexcept { return device_; }
    const GpuProperties& properties() const noexcept { return properties_; }

    cudaStream_t stream() const noexcept { return compute_.raw(); }
    cudaStream_t communication_stream() const noexcept { return communication_.raw(); }
    cudaStream_t copy_stream() const noexcept { return copy_.raw(); }

    // The host waits until all three streams are idle; reports what failed on the device.
    void synchronize();
    // What is queued on `later` from now on starts after what is queued on `earlier` by now.
    void order(cudaStream_t earlier, cudaStream_t later);

    // The place behind what is queued on stream() by now; the time of it, for which the host waits.
    // While work is captured for a graph there are no marks, and what is returned has no time.
    DeviceTimestamp mark();
    Clock::time_point time_of(DeviceTimestamp mark);

    // Memory for the next kernel call alone: every later call on stream() may use it again. Its
    // address changes only when more is asked for than ever before, which waits for the device.
    template <class T>
    CudaView<T> scratch(std::size_t count) {
        return {reinterpret_cast<T*>(scratch_bytes(count * sizeof(T))), count};
    }

    // For memory that a kernel keeps between calls: waits until stream() is done with it, calls
    // replace(), and counts that as a move.
    template <class Replace>
    void replace_scratch(const Replace& replace) {
        wait_for_scratch();
        replace();
        ++scratch_moves_;
    }

    // How often memory of either kind was replaced.
    std::int64_t scratch_moves() const noexcept { return scratch_moves_; }

    // The context's object of that type, default-constructed at its first use.
    template <class Cache>
    Cache& cached() {
        std::shared_ptr<void>& slot = caches_[typeid(Cache)];
        if (!slot) slot = std::make_shared<Cache>();
        return *static_cast<Cache*>(slot.get());
    }

private:
    std::byte* scratch_bytes(std::size_t bytes);
    void wait_for_scratch();

    int device_;
    GpuProperties properties_;
    Stream compute_, communication_, copy_;
    Event order_;
    Buffer<std::byte, CudaSpace> scratch_;
    std::int64_t scratch_moves_ = 0;
    std::unordered_map<std::type_index, std::shared_ptr<void>> caches_;
};

// How many GPUs this process sees; 0 also where there is no driver.
int visible_gpus() noexcept;

}  // namespace lockstep::device

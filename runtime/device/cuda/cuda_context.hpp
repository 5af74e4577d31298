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

// Kernels depend on these properties of a GPU.
struct GpuProperties {
    int compute_capability = 0;  // 90 for 9.0
    int multiprocessors = 0;
    std::size_t max_shared_bytes = 0;  // maximum for one block
    std::size_t l2_bytes = 0;

    // Returns the maximum number of multiprocessors for collectives, one block each; 0: NCCL
    // decides. On Hopper NCCL itself uses 16 if the switch reduces (NVLS). Blackwell needs more,
    // and NCCL knows how many.
    int for_collectives() const noexcept {
        constexpr int most = 16;
        return compute_capability >= 100 ? 0 : std::min(most, multiprocessors / 2);
    }
};

// Represents a GPU as a device: its streams, and the state that kernels keep between calls. Use it
// only from the thread that built it: it sets the thread's current device. Kernels run on stream()
// in the order of their calls; a call returns before its kernel has run.
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

    // Blocks the host until all three streams are idle. Throws if work on the device failed.
    void synchronize();
    // Makes later calls on `later` wait for all work that is already queued on `earlier`.
    void order(cudaStream_t earlier, cudaStream_t later);

    // mark() marks the point after all work queued on stream() so far; time_of() blocks the host
    // until that point is reached and returns its time. During the capture of a graph there are no
    // marks: the result then has no time.
    DeviceTimestamp mark();
    Clock::time_point time_of(DeviceTimestamp mark);

    // Returns memory for the next kernel call only: every later call on stream() may reuse it. Its
    // address changes only if a call asks for more than any call before; this waits for the device.
    template <class T>
    CudaView<T> scratch(std::size_t count) {
        return {reinterpret_cast<T*>(scratch_bytes(count * sizeof(T))), count};
    }

    // Replaces memory that a kernel keeps between calls: waits until stream() has finished with it,
    // calls replace(), and counts a move.
    template <class Replace>
    void replace_scratch(const Replace& replace) {
        wait_for_scratch();
        replace();
        ++scratch_moves_;
    }

    // Returns the number of times that scratch memory, or memory that a kernel keeps, was replaced
    // (its address changed).
    std::int64_t scratch_moves() const noexcept { return scratch_moves_; }

    // Returns the context's object of that type. The first call default-constructs it.
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

// Returns the number of GPUs that this process sees; 0 if there is no driver.
int visible_gpus() noexcept;

}  // namespace lockstep::device

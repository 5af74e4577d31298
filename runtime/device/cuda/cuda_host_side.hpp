// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "runtime/device/cpu_context.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/host_side.hpp"
#include "runtime/device/memory_of.hpp"

namespace lockstep::device {

// Copies to the host by the copy stream, and to the GPU by the compute stream.
template <>
class HostSide<CudaContext> final : public CpuContext {
public:
    explicit HostSide(CudaContext& gpu);

    // Makes later fetches wait for what is queued on the compute stream so far.
    void begin() { gpu_.order(gpu_.stream(), gpu_.copy_stream()); }
    // Queues a copy to the host. The host may read it after wait_fetched().
    template <class T>
    void fetch(std::size_t slot, CudaView<const T> from, HostView<T> to) {
        require(from.size() == to.size(), "fetch: sizes differ");
        copy(from.data(), to.data(), from.size() * sizeof(T), gpu_.copy_stream(),
             fetched_.at(slot));
    }
    void wait_fetched(std::size_t slot) { wait(fetched_.at(slot)); }
    // Queues a copy to the GPU, before all that is queued on the compute stream afterwards. The
    // host may write `from` again after wait_sent().
    template <class T>
    void send(std::size_t slot, HostView<const T> from, CudaView<T> to) {
        require(from.size() == to.size(), "send: sizes differ");
        copy(from.data(), to.data(), from.size() * sizeof(T), gpu_.stream(), sent_.at(slot));
    }
    void wait_sent(std::size_t slot) { wait(sent_.at(slot)); }

private:
    void copy(const void* from, void* to, std::size_t bytes, cudaStream_t stream,
              const Event& done);
    static void wait(const Event& done);

    CudaContext& gpu_;
    std::array<Event, host_slots> fetched_, sent_;
};

template <class T>
struct MemoryOf<T, HostSide<CudaContext>> {
    using Type = PinnedBuffer<T>;
};

}  // namespace lockstep::device

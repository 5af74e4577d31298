// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_upload.hpp"

#include <bit>
#include <cstring>

namespace lockstep::device {

namespace {

constexpr std::size_t alignment = 64, most_arrays = 32;

}  // namespace

Upload<CudaContext>::Upload(CudaContext& ctx) : ctx_(ctx) {
    for (Slot& slot : slots_) {
        slot.copied = make_event();
        slot.used = make_event();
    }
}

void Upload<CudaContext>::begin(std::size_t bytes) {
    // All that reads the present slot has been queued by now. Its next copy waits for this event
    // and not for what is queued later, so that it runs beside the two uploads in between.
    check(cudaEventRecord(slots_[slot_].used.raw(), ctx_.stream()), "cudaEventRecord");
    slot_ = (slot_ + 1) % slots_.size();
    filled_ = 0;
    Slot& slot = slots_[slot_];
    check(cudaEventSynchronize(slot.copied.raw()), "cudaEventSynchronize");
    check(cudaStreamWaitEvent(ctx_.copy_stream(), slot.used.raw(), 0), "cudaStreamWaitEvent");
    const std::size_t capacity = bytes + most_arrays * alignment;
    if (slot.staging.size() >= capacity) return;
    const std::size_t rounded = std::bit_ceil(capacity);
    slot.staging = PinnedBuffer<std::byte>(rounded);
    slot.arrived = Buffer<std::byte, CudaSpace>(rounded);
}

const void* Upload<CudaContext>::add_bytes(const void* from, std::size_t bytes) {
    const Slot& slot = slots_[slot_];
    const std::size_t first = filled_;
    require(bytes <= slot.staging.size() - first, "more is uploaded than was announced");
    if (bytes > 0) std::memcpy(slot.staging.view().data() + first, from, bytes);
    filled_ += (bytes + alignment - 1) / alignment * alignment;
    return slot.arrived.view().data() + first;
}

void Upload<CudaContext>::finish() {
    const Slot& slot = slots_[slot_];
    check(cudaMemcpyAsync(slot.arrived.view().data(), slot.staging.view().data(), filled_,
                          cudaMemcpyDefault, ctx_.copy_stream()),
          "cudaMemcpyAsync");
    check(cudaEventRecord(slot.copied.raw(), ctx_.copy_stream()), "cudaEventRecord");
    check(cudaStreamWaitEvent(ctx_.stream(), slot.copied.raw(), 0), "cudaStreamWaitEvent");
}

}  // namespace lockstep::device

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_upload.hpp"

namespace lockstep::device {

Upload<CudaContext>::Upload(CudaContext& ctx) : ctx_(ctx) {
    for (Slot& slot : slots_) {
        slot.copied = make_event();
        slot.used = make_event();
    }
}

void Upload<CudaContext>::begin(std::size_t bytes) {
    slot_ = (slot_ + 1) % slots_.size();
    filled_ = 0;
    Slot& slot = slots_[slot_];
    check(cudaEventSynchronize(slot.copied.raw()), "cudaEventSynchronize");
    check(cudaStreamWaitEvent(ctx_.copy_stream(), slot.used.raw(), 0), "cudaStreamWaitEvent");
    const std::size_t capacity = upload_capacity(bytes);
    if (slot.staging.size() < capacity) {
        slot.staging = PinnedBuffer<std::byte>(capacity);
        slot.arrived = Buffer<std::byte, CudaSpace>(capacity);
    }
    if (present_.size() < capacity) {
        present_ = Buffer<std::byte, CudaSpace>(capacity);
        ++moves_;
    }
}

auto Upload<CudaContext>::take(std::size_t bytes) -> Place {
    const Slot& slot = slots_[slot_];
    const std::size_t first = filled_;
    require(bytes <= slot.staging.size() - first, "more is uploaded than was announced");
    filled_ += (bytes + upload_alignment - 1) / upload_alignment * upload_alignment;
    return {slot.staging.view().data() + first, present_.view().data() + first};
}

void Upload<CudaContext>::finish() {
    const Slot& slot = slots_[slot_];
    check(cudaMemcpyAsync(slot.arrived.view().data(), slot.staging.view().data(), filled_,
                          cudaMemcpyDefault, ctx_.copy_stream()),
          "cudaMemcpyAsync");
    check(cudaEventRecord(slot.copied.raw(), ctx_.copy_stream()), "cudaEventRecord");
    check(cudaStreamWaitEvent(ctx_.stream(), slot.copied.raw(), 0), "cudaStreamWaitEvent");
    copy_bytes(ctx_, slot.arrived.view().data(), present_.view().data(), filled_);
    // The slot's next copy waits for this event only, and not for work that is queued later. The
    // copy can therefore overlap with that work.
    check(cudaEventRecord(slot.used.raw(), ctx_.stream()), "cudaEventRecord");
}

}  // namespace lockstep::device

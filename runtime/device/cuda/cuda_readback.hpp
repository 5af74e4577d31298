// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/readback.hpp"

namespace lockstep::device {

// Copies to pinned memory on the compute stream. take() waits for its own value only.
template <class T>
class Readback<T, CudaContext> {
public:
    explicit Readback(CudaContext& ctx) : ctx_(ctx) {}

    void send(const T* from) {
        Slot slot = free_slot();
        copy_bytes(ctx_, from, slot.value.view().data(), sizeof(T));
        check(cudaEventRecord(slot.arrived.raw(), ctx_.stream()), "cudaEventRecord");
        sent_.push_back(std::move(slot));
    }
    T take() {
        require(!sent_.empty(), "nothing was sent");
        check(cudaEventSynchronize(sent_.front().arrived.raw()), "cudaEventSynchronize");
        const T value = sent_.front().value.view()[0];
        free_.push_back(std::move(sent_.front()));
        sent_.pop_front();
        return value;
    }

private:
    struct Slot {
        PinnedBuffer<T> value;
        Event arrived;
    };

    Slot free_slot() {
        if (free_.empty()) return {PinnedBuffer<T>(1), make_event()};
        Slot slot = std::move(free_.back());
        free_.pop_back();
        return slot;
    }

    CudaContext& ctx_;
    std::deque<Slot> sent_;
    std::vector<Slot> free_;
};

}  // namespace lockstep::device

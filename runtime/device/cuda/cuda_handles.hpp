// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/core/unique_handle.hpp"
#include "runtime/device/cuda/cuda_check.hpp"

namespace lockstep::device {

struct StreamTraits {
    using Raw = cudaStream_t;
    static Raw null() noexcept { return nullptr; }
    static void destroy(Raw raw) noexcept { cudaStreamDestroy(raw); }
};
using Stream = UniqueHandle<StreamTraits>;

struct EventTraits {
    using Raw = cudaEvent_t;
    static Raw null() noexcept { return nullptr; }
    static void destroy(Raw raw) noexcept { cudaEventDestroy(raw); }
};
using Event = UniqueHandle<EventTraits>;

enum class Timing { off, on };

// Makes an event to order streams. Timing::on also allows to measure the time between two events.
inline Event make_event(Timing timing = Timing::off) {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreateWithFlags(
              &raw, timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return Event(raw);
}

// Returns true if work queued on the stream is captured into a graph instead of running.
inline bool is_captured(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
}

}  // namespace lockstep::device

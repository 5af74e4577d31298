// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/trace.hpp"
#include "runtime/device/cuda/cuda_handles.hpp"

namespace lockstep::device {

// Tells at which time of the host's clock a GPU reached a point in one of its streams. A context
// has one: ctx.cached<CudaClock>(). Use it from the context's thread.
class CudaClock {
public:
    CudaClock();

    // Marks the point after all work queued on the stream so far.
    std::int64_t mark(cudaStream_t stream);
    // Returns a mark whose event another thread may record. It must be recorded before its time is
    // asked for.
    std::int64_t unrecorded_mark();
    // Waits until the GPU has reached the mark. Only the last max_marks marks are kept.
    Clock::time_point time_of(std::int64_t mark);
    // Returns the event of a mark, to wait for it without this clock. It is recorded anew after
    // max_marks further marks.
    cudaEvent_t event(std::int64_t mark) const { return slot(mark).raw(); }

    // A step uses about ten marks per micro-batch and two per part of its logits.
    static constexpr std::int64_t max_marks = 32'768;

private:
    // The time of a mark is calculated from its distance to an anchor.
    struct Anchor {
        Event event = make_event(Timing::on);
        Clock::time_point time;
    };

    const Event& slot(std::int64_t mark) const;
    void drop_anchor();

    std::vector<Event> events_;
    std::int64_t next_ = 0;
    Anchor anchor_, earlier_;
    std::int64_t anchored_ = 0;  // marks before this one use the earlier anchor
};

}  // namespace lockstep::device

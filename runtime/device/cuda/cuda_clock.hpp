// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/trace.hpp"
#include "runtime/device/cuda/cuda_handles.hpp"

namespace lockstep::device {

// Tells at what time of the host's clock a GPU came to a place in one of its streams. A context has
// one: ctx.cached<CudaClock>(). Used from the context's thread.
class CudaClock {
public:
    CudaClock();

    // The place behind what is queued on the stream by now.
    std::int64_t mark(cudaStream_t stream);
    // A mark whose event somebody else records, from any thread, before its time is asked for.
    std::int64_t unrecorded_mark();
    // Waits until the GPU is there. Of the last max_marks marks alone.
    Clock::time_point time_of(std::int64_t mark);
    // For waiting without this clock; recorded anew after max_marks more marks.
    cudaEvent_t event(std::int64_t mark) const { return slot(mark).raw(); }

    // A step has some ten for each micro-batch and two for each part of its logits.
    static constexpr std::int64_t max_marks = 32'768;

private:
    // Times are told by their distance to one of these.
    struct Anchor {
        Event event = make_event(Timing::on);
        Clock::time_point time;
    };

    const Event& slot(std::int64_t mark) const;
    void drop_anchor();

    std::vector<Event> events_;
    std::int64_t next_ = 0;
    Anchor anchor_, earlier_;
    std::int64_t anchored_ = 0;  // marks before this one are told by the earlier anchor
};

}  // namespace lockstep::device

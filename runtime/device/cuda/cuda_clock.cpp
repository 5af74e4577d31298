// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_clock.hpp"

#include <chrono>
#include <utility>

namespace lockstep::device {

namespace {

// CUDA gives distances as float milliseconds. Beyond this distance they would be too coarse.
constexpr float farthest_milliseconds = 10'000;

}  // namespace

CudaClock::CudaClock() { drop_anchor(); }

// CUDA cannot tell the distance to an earlier event, so marks that are already queued keep their
// anchor. A new anchor is made when the time of a later mark is asked for, and the steps are asked
// for in order.
void CudaClock::drop_anchor() {
    std::swap(anchor_, earlier_);
    check(cudaEventRecord(anchor_.event.raw(), nullptr), "cudaEventRecord");
    check(cudaEventSynchronize(anchor_.event.raw()), "cudaEventSynchronize");
    anchor_.time = Clock::now();
    anchored_ = next_;
}

std::int64_t CudaClock::unrecorded_mark() {
    if (events_.size() < max_marks) events_.push_back(make_event(Timing::on));
    return next_++;
}

std::int64_t CudaClock::mark(cudaStream_t stream) {
    const std::int64_t mark = unrecorded_mark();
    check(cudaEventRecord(slot(mark).raw(), stream), "cudaEventRecord");
    return mark;
}

Clock::time_point CudaClock::time_of(std::int64_t mark) {
    const Event& at = slot(mark);
    check(cudaEventSynchronize(at.raw()), "cudaEventSynchronize");
    const Anchor& from = mark < anchored_ ? earlier_ : anchor_;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from.event.raw(), at.raw()), "cudaEventElapsedTime");
    const auto time = from.time + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<float, std::milli>(milliseconds));
    if (mark >= anchored_ && milliseconds > farthest_milliseconds) drop_anchor();
    return time;
}

const Event& CudaClock::slot(std::int64_t mark) const {
    require(mark >= 0 && mark < next_ && next_ - mark <= max_marks, "a mark that is forgotten");
    return events_[static_cast<std::size_t>(mark % max_marks)];
}

}  // namespace lockstep::device

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_clock.hpp"

#include <chrono>
#include <utility>

namespace lockstep::device {

namespace {

// Distances are floats of milliseconds, which from here on would be too coarse.
constexpr float farthest_milliseconds = 10'000;

}  // namespace

CudaClock::CudaClock() { drop_anchor(); }

// CUDA does not say what the distance is to an event that came before, so the marks that are queued
// already keep their anchor. The next one is dropped when a later mark is asked about, and steps
// are asked about in their order.
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

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_clock.hpp"

#include <chrono>
#include <utility>

namespace lockstep::device {

namespace {

// Distances are floats of milliseconds, which from here on would be too coarse.
constexpr float farthest_milliseconds = 10'000;

}  // namespace

CudaClock::CudaClock() : anchor_(make_event(Timing::on)) {
    check(cudaEventRecord(anchor_.raw(), nullptr), "cudaEventRecord");
    check(cudaEventSynchronize(anchor_.raw()), "cudaEventSynchronize");
    anchor_time_ = Clock::now();
}

std::int64_t CudaClock::mark(cudaStream_t stream) {
    if (events_.size() < most_marks) events_.push_back(make_event(Timing::on));
    ++next_;
    check(cudaEventRecord(slot(next_ - 1).raw(), stream), "cudaEventRecord");
    return next_ - 1;
}

Clock::time_point CudaClock::time_of(std::int64_t mark) {
    const Event& at = slot(mark);
    check(cudaEventSynchronize(at.raw()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, anchor_.raw(), at.raw()), "cudaEventElapsedTime");
    const auto time = anchor_time_ + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<float, std::milli>(milliseconds));
    if (milliseconds > farthest_milliseconds) {
        check(cudaEventRecord(anchor_.raw(), nullptr), "cudaEventRecord");
        check(cudaEventSynchronize(anchor_.raw()), "cudaEventSynchronize");
        anchor_time_ = Clock::now();
    }
    return time;
}

const Event& CudaClock::slot(std::int64_t mark) const {
    require(mark >= 0 && mark < next_ && next_ - mark <= most_marks, "a mark that is forgotten");
    return events_[static_cast<std::size_t>(mark % most_marks)];
}

}  // namespace lockstep::device

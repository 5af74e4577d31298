// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/rank_progress.hpp"

#include <unistd.h>

#include <utility>

#include "runtime/core/thread_io.hpp"

namespace lockstep::comm {

const char* name(Phase phase) noexcept {
    switch (phase) {
        case Phase::start:
            return "starting";
        case Phase::data:
            return "reading data";
        case Phase::computing:
            return "forward and backward";
        case Phase::optimizer:
            return "optimizer";
        case Phase::validation:
            return "validation";
        case Phase::checkpoint:
            return "saving a checkpoint";
    }
    return "an unknown phase";
}

RankProgress::RankProgress() : since_(Clock::now().time_since_epoch().count()) {
    count_this_thread();
}

void RankProgress::count_this_thread() {
    const std::lock_guard lock(mutex_);
    threads_.push_back(::gettid());
}

std::uint64_t RankProgress::bytes_moved() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const pid_t thread : threads_) sum += bytes_moved_by(thread);
    return sum;
}

std::string RankProgress::file_awaited() const {
    const std::lock_guard lock(mutex_);
    for (const pid_t thread : threads_) {
        std::string file = file_awaited_by(thread);
        if (!file.empty()) return file;
    }
    return "";
}

void RankProgress::begin_step(std::int64_t step) noexcept {
    step_.store(step, std::memory_order_relaxed);
    enter(Phase::computing);
}

Phase RankProgress::enter(Phase phase) noexcept {
    const Phase before = phase_.load(std::memory_order_relaxed);
    phase_.store(phase, std::memory_order_relaxed);
    move_on();
    return before;
}

void RankProgress::move_on() noexcept {
    since_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    changes_.fetch_add(1, std::memory_order_release);
}

RankProgress::Reading RankProgress::read() const noexcept {
    Reading reading;
    reading.changes = changes_.load(std::memory_order_acquire);
    reading.step = step_.load(std::memory_order_relaxed);
    reading.phase = phase_.load(std::memory_order_relaxed);
    reading.since = Clock::time_point(Clock::duration(since_.load(std::memory_order_relaxed)));
    return reading;
}

void RankProgress::watch_device(std::function<Activity()> activity) {
    const std::lock_guard lock(mutex_);
    device_activity_ = std::move(activity);
}

Activity RankProgress::device_activity() const {
    const std::lock_guard lock(mutex_);
    return device_activity_ ? device_activity_() : Activity{};
}

}  // namespace lockstep::comm

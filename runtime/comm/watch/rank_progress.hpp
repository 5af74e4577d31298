// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/watch/step_times.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::comm {

enum class Phase : int { start, data, computing, optimizer, validation, checkpoint };

// "reading data"
const char* name(Phase phase) noexcept;

// Where one rank's main thread is, and how fast. That thread writes, any other reads; telling where
// one is never waits.
class RankProgress {
public:
    struct Reading {
        std::int64_t step = 0;
        Phase phase = Phase::start;
        std::uint64_t changes = 0;
        Clock::time_point since;  // the last change
    };

    RankProgress() noexcept : since_(Clock::now().time_since_epoch().count()) {}

    void begin_step(std::int64_t step) noexcept;
    // Returns the phase before.
    Phase enter(Phase phase) noexcept;
    // Still in the same phase, and moving: for phases that last.
    void move_on() noexcept;

    Reading read() const noexcept;

    // What the rank's GPU is at among the others, where it has one: `activity` is asked from any
    // thread until nothing takes its place.
    void watch_device(std::function<Activity()> activity);
    Activity device_activity() const;

    Pace& pace() noexcept { return pace_; }
    const Pace& pace() const noexcept { return pace_; }

private:
    std::atomic<std::int64_t> step_{0};
    std::atomic<Phase> phase_{Phase::start};
    std::atomic<std::uint64_t> changes_{0};
    std::atomic<Clock::rep> since_;
    Pace pace_;
    mutable std::mutex mutex_;  // of what follows
    std::function<Activity()> device_activity_;
};

// In `phase` as long as the scope lasts, then in the one before; after an exception the phase in
// which it was thrown stays.
class PhaseScope {
public:
    // Nobody may be watching.
    PhaseScope(RankProgress* whereabouts, Phase phase) noexcept
        : whereabouts_(whereabouts),
          before_(whereabouts != nullptr ? whereabouts->enter(phase) : phase) {}
    ~PhaseScope() {
        const bool thrown = std::uncaught_exceptions() > unwinding_;
        if (whereabouts_ != nullptr && !thrown) whereabouts_->enter(before_);
    }
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;

private:
    RankProgress* whereabouts_;
    Phase before_;
    int unwinding_ = std::uncaught_exceptions();
};

}  // namespace lockstep::comm

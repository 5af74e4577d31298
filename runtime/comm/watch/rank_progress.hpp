// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/watch/step_times.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::comm {

enum class Phase : int { start, data, computing, optimizer, validation, checkpoint };

// Returns a text such as "reading data".
const char* name(Phase phase) noexcept;

// Records the position of one rank's main thread and its speed. The main thread writes, any thread
// reads; reporting a position never waits.
class RankProgress {
public:
    struct Reading {
        std::int64_t step = 0;
        Phase phase = Phase::start;
        std::uint64_t changes = 0;
        Clock::time_point since;  // time of the last change
    };

    // Belongs to the calling thread, whose reading and writing counts as progress.
    RankProgress();

    void begin_step(std::int64_t step) noexcept;
    // Returns the previous phase.
    Phase enter(Phase phase) noexcept;
    // Reports progress within the same phase; for phases that take long. Any thread may call it.
    void move_on() noexcept;
    // Lets the bytes that the calling thread reads and writes count as progress, too; for a thread
    // that the main thread waits for.
    void count_this_thread();

    Reading read() const noexcept;
    // Returns how many bytes the counted threads have read and written by system calls.
    std::uint64_t bytes_moved() const;
    // Returns the file that a counted thread waits for; empty: none, or it is not known.
    std::string file_awaited() const;

    // Sets the function that tells what the rank's GPU is doing in collectives. Any thread calls
    // `activity` until it is replaced; an empty function removes it.
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
    mutable std::mutex mutex_;  // guards the members below
    std::vector<pid_t> threads_;
    std::function<Activity()> device_activity_;
};

// Enters `phase` as long as the scope lasts, then returns to the previous one. After an exception
// the phase in which it was thrown stays.
class PhaseScope {
public:
    // `progress` may be null: no watchdog runs.
    PhaseScope(RankProgress* progress, Phase phase) noexcept
        : progress_(progress), before_(progress != nullptr ? progress->enter(phase) : phase) {}
    ~PhaseScope() {
        const bool thrown = std::uncaught_exceptions() > unwinding_;
        if (progress_ != nullptr && !thrown) progress_->enter(before_);
    }
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;

private:
    RankProgress* progress_;
    Phase before_;
    int unwinding_ = std::uncaught_exceptions();
};

}  // namespace lockstep::comm

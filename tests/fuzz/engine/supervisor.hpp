// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "tests/fuzz/engine/settings.hpp"

namespace lockstep::fuzz {

// The memory that a fuzzing process shares with the process that watches it.
struct Shared {
    static constexpr std::size_t max_bytes = std::size_t{1} << 20;

    std::atomic<std::uint64_t> executions, kept, blocks;
    std::atomic<std::uint64_t> size;  // of the input that is run
    std::atomic<bool> finished;       // the work has returned
    std::array<std::uint8_t, max_bytes> input;
};

// Runs `work` in a child process and waits for it. If the child ends in any way but by returning,
// the input that it ran is written to a file in settings.failures, and a line says what happened.
// Returns the exit code for main().
int supervise(const Settings& settings, const std::function<void(Shared&)>& work);

}  // namespace lockstep::fuzz

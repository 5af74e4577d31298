// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "tests/fuzz/engine/bytes.hpp"
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

// What a child process does.
struct Work {
    std::function<void(Shared&)> all;
    std::function<void(Shared&, const Bytes&)> one;  // runs this input alone
};

// Does the work in a child process and waits for it. If the child ends in any way but by returning,
// the input that it ran is written to a file in settings.failures, and a line says what happened.
// A machine that stands still for a moment makes any input look slow, so an input that takes too
// long is run once more, alone, and is a failure only if it takes too long again.
// Returns the exit code for main().
int supervise(const Settings& settings, const Work& work);

}  // namespace lockstep::fuzz

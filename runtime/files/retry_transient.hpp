// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/core/system_failure.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep {

// Returns what `action` returns, which only reads. A transient failure of the system is tried again
// until `timeout_ms` is over, with growing pauses; then TransientFailure is thrown. `tell` is
// called with the first failure's text.
template <class Action, class Tell>
auto retry_transient(int timeout_ms, const Action& action, const Tell& tell) {
    using namespace std::chrono_literals;
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (Clock::duration pause = 200ms;; pause = std::min<Clock::duration>(2 * pause, 5s)) {
        try {
            return action();
        } catch (const SystemFailure& failure) {
            if (!is_transient(failure.code())) throw;
            if (Clock::now() >= deadline) throw TransientFailure(failure.what(), failure.code());
            if (pause == 200ms) tell(failure.what());
        }
        std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - Clock::now()));
    }
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/core/system_failure.hpp"

namespace lockstep::train {

// Returns what `action` returns, which only reads. A transient failure of the system is tried again
// after each of these pauses; the last one throws TransientFailure with the file and the name of
// the error number.
template <class Action>
auto retry_reading(Action action) {
    constexpr std::array pauses_ms = {200, 500, 1'000, 2'000};
    for (std::size_t attempt = 0;; ++attempt) {
        try {
            return action();
        } catch (const SystemFailure& failure) {
            if (!is_transient(failure.code())) throw;
            if (attempt == pauses_ms.size()) {
                throw TransientFailure(std::string(failure.what()) + " (" +
                                           ::strerrorname_np(failure.code()) + ", in " +
                                           std::to_string(pauses_ms.size() + 1) +
                                           " attempts); start again once the file system answers",
                                       failure.code());
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(pauses_ms[attempt]));
    }
}

}  // namespace lockstep::train

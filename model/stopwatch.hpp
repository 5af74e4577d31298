// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace lockstep::model {

class Stopwatch {
public:
    // Seconds since the last lap, or since construction.
    double lap() noexcept {
        const auto now = std::chrono::steady_clock::now();
        const std::chrono::duration<double> passed = now - last_;
        last_ = now;
        return passed.count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace lockstep::model

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/log.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::data {

// Reports the progress of a pass over the input a few times per second, and its speed at the end.
class ReadProgress {
public:
    ReadProgress(Log& log, std::string what, std::uint64_t total_bytes);

    void add(std::uint64_t bytes);
    void finish();

private:
    double megabytes_per_s() const;

    Log& log_;
    std::string what_;
    std::uint64_t total_bytes_, bytes_ = 0;
    Clock::time_point begin_ = Clock::now(), shown_ = begin_;
};

std::string one_decimal(double value);

}  // namespace lockstep::data

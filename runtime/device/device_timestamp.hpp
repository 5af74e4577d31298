// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::device {

// Identifies a point in a device's work. Its context tells the time of it once the device has
// passed it.
struct DeviceTimestamp {
    std::int64_t value = -1;  // negative: none
};

struct Span {
    DeviceTimestamp begin, end;

    bool known() const noexcept { return begin.value >= 0 && end.value >= 0; }
};

// Measures consecutive laps of the context's work.
template <class Ctx>
class Stopwatch {
public:
    explicit Stopwatch(Ctx& ctx) : ctx_(ctx), last_(ctx.mark()) {}

    // Returns the time from the last lap, or from construction, until now.
    Span lap() {
        const DeviceTimestamp begin = last_;
        last_ = ctx_.mark();
        return {begin, last_};
    }

private:
    Ctx& ctx_;
    DeviceTimestamp last_;
};

}  // namespace lockstep::device

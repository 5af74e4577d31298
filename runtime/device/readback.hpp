// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "runtime/device/cpu_context.hpp"

namespace lockstep::device {

// Transfers values from the device to the host, which reads them some time after send().
template <class T, class Ctx>
class Readback;

template <class T>
class Readback<T, CpuContext> {
public:
    explicit Readback(CpuContext&) {}

    // Sends in order with the device's work.
    void send(const T* from) { values_.push_back(*from); }
    // Returns the oldest value sent. Waits until it has arrived.
    T take() {
        require(!values_.empty(), "nothing was sent");
        const T value = values_.front();
        values_.pop_front();
        return value;
    }

private:
    std::deque<T> values_;
};

}  // namespace lockstep::device

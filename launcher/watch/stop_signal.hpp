// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace lockstep::launcher {

// Turns INT, TERM, HUP, USR1 and USR2 into a flag that the training loop reads. HUP is left alone
// if the process was started with HUP ignored (nohup). The object must be made before any other
// thread starts because threads inherit the blocked signals. A second INT ends the process at once.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    const std::atomic<bool>& requested() const noexcept { return requested_; }

private:
    void watch();

    std::atomic<bool> requested_{false};
    int signals_ = -1;  // signalfd
    int wake_ = -1;     // eventfd that ends the thread
    std::thread thread_;
};

}  // namespace lockstep::launcher

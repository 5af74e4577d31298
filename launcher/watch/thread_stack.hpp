// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <string>

namespace lockstep::launcher {

// Reads the call stack of one thread from another.
class ThreadStack {
public:
    // Observes the calling thread. Uses the second real-time signal.
    ThreadStack();

    // Returns one function per line, the innermost first. The result is empty when the thread does
    // not answer in time. A system call in which the thread sleeps is restarted.
    std::string take(int timeout_ms) const;

private:
    pthread_t thread_;
};

}  // namespace lockstep::launcher

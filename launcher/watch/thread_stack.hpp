// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <string>

namespace lockstep::launcher {

// Asks one thread where it is, from another.
class ThreadStack {
public:
    // Of the calling thread. Takes the second real-time signal.
    ThreadStack();

    // One function a line, innermost first; empty when the thread does not answer in time. A call
    // that it sleeps in is restarted.
    std::string take(int timeout_ms) const;

private:
    pthread_t thread_;
};

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::comm {

// One thread that runs what it is given in the order given, and sleeps when there is nothing.
class Worker {
public:
    Worker();
    // Runs what is queued, then ends the thread.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // `task` must not throw.
    void post(std::function<void()> task);
    // Runs `task` after everything posted and waits; throws what it throws.
    void run(const std::function<void()>& task);

private:
    void loop();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> tasks_;
    bool closing_ = false;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace lockstep::comm

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::comm {

// Runs tasks on one thread, in the order in which they are given. The thread sleeps when there are
// none.
class Worker {
public:
    Worker();
    // Runs the queued tasks, then ends the thread.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // `task` must not throw.
    void post(std::function<void()> task);
    // Runs `task` after all posted tasks and waits for it; throws its exception.
    void run(const std::function<void()>& task);

private:
    void loop();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> tasks_;
    bool closing_ = false;
    std::thread thread_;  // the last member because the thread uses all the others
};

}  // namespace lockstep::comm

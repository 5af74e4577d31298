// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace lockstep {

// Runs jobs on a thread of its own, one after the other, so that files are read and written while
// the caller computes. All calls come from one thread.
//
//   const IoThread::Ticket ticket = io.start([&] { file.read(0, values); });
//   ... compute ...
//   io.wait(ticket);                      // throws what this job or one before it threw
class IoThread {
public:
    using Ticket = std::uint64_t;  // 0: of no job

    IoThread() = default;
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;
    // Waits for all jobs and drops their errors.
    ~IoThread();

    // Sets a function that the thread calls when it begins; call this before the first job.
    void begin_with(std::function<void()> begin) { begin_ = std::move(begin); }
    // Queues a job. After an error no job runs any more.
    Ticket start(std::function<void()> job);
    void wait(Ticket ticket);

private:
    void run();

    std::function<void()> begin_;  // may be empty
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;  // the front one is running
    Ticket started_ = 0, ended_ = 0;
    std::exception_ptr error_;
    bool ending_ = false;
    std::thread thread_;  // started by the first job
};

}  // namespace lockstep

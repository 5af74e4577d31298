// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace lockstep::train {

// Runs saves on a thread of its own, one after the other. All calls come from one thread.
//
//   SaveThread saves;
//   saves.start([&] { write(copy); });   // returns at once
//   ... train ...
//   saves.check();                       // throws what the save threw, if it did
//   saves.wait();                        // the copy may be renewed now
class SaveThread {
public:
    SaveThread() = default;
    SaveThread(const SaveThread&) = delete;
    SaveThread& operator=(const SaveThread&) = delete;
    // Waits for all saves and drops their errors.
    ~SaveThread();

    // Sets a function that the thread calls when it begins; call this before the first save.
    void begin_with(std::function<void()> begin) { begin_ = std::move(begin); }
    // Queues a save. After an error the queued ones are dropped.
    void start(std::function<void()> save);
    bool busy() const;
    // Waits until all saves have ended, and throws the first error. Each error is thrown once.
    void wait();
    // Throws an error that is there already.
    void check();

private:
    void run();

    std::function<void()> begin_;  // may be empty
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;  // the front one is running
    std::exception_ptr error_;
    std::atomic<bool> failed_ = false;
    bool ending_ = false;
    std::thread thread_;  // started by the first save
};

}  // namespace lockstep::train

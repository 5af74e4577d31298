// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/save_thread.hpp"

#include <system_error>
#include <utility>

namespace lockstep::train {

SaveThread::~SaveThread() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void SaveThread::start(std::function<void()> save) {
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error&) {
            // A process that may start no further thread saves as it did without one.
            save();
            return;
        }
    }
    {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(save));
    }
    changed_.notify_all();
}

bool SaveThread::busy() const {
    const std::scoped_lock lock(mutex_);
    return !queue_.empty();
}

void SaveThread::wait() {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return queue_.empty(); });
    }
    check();
}

void SaveThread::check() {
    if (failed_.exchange(false)) std::rethrow_exception(std::exchange(error_, nullptr));
}

void SaveThread::run() {
    if (begin_) begin_();
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        // No copy is made, because it may need memory; the reference stays good while others queue.
        const std::function<void()>& save = queue_.front();
        lock.unlock();
        std::exception_ptr error;
        try {
            save();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        queue_.pop_front();
        if (error != nullptr) {
            queue_.clear();
            error_ = std::exchange(error, nullptr);
            failed_ = true;
        }
        changed_.notify_all();
    }
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/io_thread.hpp"

#include <utility>

namespace lockstep {

IoThread::~IoThread() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

IoThread::Ticket IoThread::start(std::function<void()> job) {
    Ticket ticket = 0;
    {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(job));
        ticket = ++started_;
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
    return ticket;
}

void IoThread::wait(Ticket ticket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= ticket; });
    if (error_ != nullptr) std::rethrow_exception(error_);
}

void IoThread::run() {
    if (begin_) begin_();
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        const std::function<void()> job = std::move(queue_.front());
        const bool runs = error_ == nullptr;
        lock.unlock();
        std::exception_ptr error;
        try {
            if (runs) job();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        queue_.pop_front();
        if (error != nullptr) error_ = error;
        ++ended_;
        changed_.notify_all();
    }
}

}  // namespace lockstep

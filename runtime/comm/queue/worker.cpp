// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/queue/worker.hpp"

#include <csignal>
#include <exception>
#include <future>
#include <initializer_list>
#include <utility>

namespace lockstep::comm {

namespace {

// INT and TERM are left to the main thread, which handles them. PIPE would end the process when a
// library writes to a peer that is gone; a blocked PIPE makes the write return an error instead.
// Threads that the library starts inherit this mask.
void block_signals() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

}  // namespace

Worker::Worker() : thread_([this] { loop(); }) {}

Worker::~Worker() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Worker::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
}

void Worker::run(const std::function<void()>& task) {
    std::promise<void> done;
    post([&] {
        try {
            task();
            done.set_value();
        } catch (...) {
            done.set_exception(std::current_exception());
        }
    });
    done.get_future().get();
}

void Worker::loop() {
    block_signals();
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        task = nullptr;  // destroys what the task owns on this thread, outside the lock
        lock.lock();
    }
}

}  // namespace lockstep::comm

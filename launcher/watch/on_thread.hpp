// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace lockstep::launcher {

// Runs `work` on a thread of its own, because a file system that hangs never answers. The process
// may end before the thread does, so `work` must own what it uses or that must live as long as the
// process. If there is no memory for a thread, the future is a deferred one.
template <class Work>
auto on_thread(const Work& work) -> std::future<decltype(work())> {
    std::packaged_task<decltype(work())()> task(work);
    auto result = task.get_future();
    try {
        std::thread(std::move(task)).detach();
        return result;
    } catch (const std::system_error&) {
        return std::async(std::launch::deferred, work);
    }
}

// Runs `work` on a thread of its own and waits for it no longer than `longest`.
template <class Work>
void within(std::chrono::milliseconds longest, const Work& work) {
    auto done = on_thread(work);
    if (done.wait_for(longest) == std::future_status::deferred) done.get();
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace lockstep::launcher::doctor {

// Runs `work` on a thread of its own and returns its result, or throws its exception. Returns an
// empty optional when `work` does not end in time. The thread then keeps running, because a dead
// file server never answers. `work` must therefore own everything that it uses.
template <class Work>
auto run_with_timeout(std::chrono::milliseconds longest, Work work)
    -> std::optional<decltype(work())> {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    std::thread(std::move(task)).detach();
    if (result.wait_for(longest) != std::future_status::ready) return std::nullopt;
    return result.get();
}

}  // namespace lockstep::launcher::doctor

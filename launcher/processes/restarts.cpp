// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/restarts.hpp"

#include <chrono>
#include <thread>

namespace lockstep::launcher {

namespace {

constexpr int wrong_request = 2;
constexpr int peer_failed = 3;
constexpr int first_signal = 128;

bool final(const GroupResult& result) {
    return result.signal != 0 || result.status == wrong_request;
}

}  // namespace

GroupResult run_with_restarts(const std::function<GroupResult(int attempt)>& run,
                              const RestartPolicy& policy,
                              const std::function<void(const GroupResult&, int restart)>& failed) {
    for (int attempt = 0;; ++attempt) {
        const GroupResult result = run(attempt);
        if (result.failed_rank < 0) return result;
        const bool again = attempt < policy.max_restarts && !final(result);
        failed(result, again ? attempt + 1 : 0);
        if (!again) return result;
        std::this_thread::sleep_for(std::chrono::milliseconds(policy.pause_ms));
    }
}

std::string failure_text(const GroupResult& result, int restart, const RestartPolicy& policy) {
    const bool killed = result.status > first_signal;
    std::string text = "failed first, with exit code " + std::to_string(result.status);
    if (killed) {
        text = "failed first, killed by signal " + std::to_string(result.status - first_signal);
    } else if (result.status == peer_failed) {
        text = "ended (exit code 3) because another had failed, or hung";
    }
    text += "; the other ranks were ended";
    if (restart == 0) return text;
    return text + ", all start again (restart " + std::to_string(restart) + " of " +
           std::to_string(policy.max_restarts) + ")";
}

int exit_code_of(const GroupResult& result) noexcept {
    if (result.failed_rank < 0) return 0;
    return result.status > first_signal ? 1 : result.status;
}

}  // namespace lockstep::launcher

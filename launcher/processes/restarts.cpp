// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/restarts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "runtime/core/signal_name.hpp"

namespace lockstep::launcher {

namespace {

constexpr int wrong_request = 2;
constexpr int peer_failed = 3;
constexpr int first_signal = 128;
constexpr int longest_pause_ms = 60'000;

bool final(const GroupResult& result) {
    return result.signal != 0 || result.status == wrong_request;
}

// Counts the failures in a row between which no checkpoint was saved.
class Progress {
public:
    explicit Progress(const RestartPolicy& policy) : policy_(policy), newest_(newest()) {}

    void attempt_failed() {
        const std::string now = newest();
        failures_ = now != newest_ ? 0 : failures_ + 1;
        newest_ = now;
    }
    bool none() const { return known() && failures_ > max_restarts_without_progress; }
    int pause_ms() const {
        std::int64_t pause_ms = policy_.pause_ms;
        for (int failure = 1; failure < failures_ && pause_ms < longest_pause_ms; ++failure)
            pause_ms *= 2;
        return static_cast<int>(std::min<std::int64_t>(pause_ms, longest_pause_ms));
    }
    const std::string& checkpoint() const noexcept { return newest_; }

private:
    bool known() const { return policy_.max_restarts > 0 && policy_.newest_checkpoint != nullptr; }
    std::string newest() const { return known() ? policy_.newest_checkpoint() : ""; }

    const RestartPolicy& policy_;
    std::string newest_;
    int failures_ = 0;  // in a row, without a newer checkpoint
};

std::string seconds_text(int milliseconds) {
    return std::to_string((milliseconds + 999) / 1000) + " s";
}

}  // namespace

GroupResult run_with_restarts(
    const std::function<GroupResult(int attempt)>& run, const RestartPolicy& policy,
    const std::function<void(const GroupResult&, const AfterFailure&)>& failed) {
    Progress progress(policy);
    for (int attempt = 0;; ++attempt) {
        const GroupResult result = run(attempt);
        if (result.failed_rank < 0) return result;
        progress.attempt_failed();
        AfterFailure after;
        after.newest_checkpoint = progress.checkpoint();
        const bool wanted = attempt < policy.max_restarts && !final(result);
        after.no_progress = wanted && progress.none();
        if (wanted && !after.no_progress) after = {attempt + 1, progress.pause_ms(), false, ""};
        failed(result, after);
        if (after.restart == 0) return result;
        std::this_thread::sleep_for(std::chrono::milliseconds(after.pause_ms));
    }
}

std::string failure_text(const GroupResult& result, const AfterFailure& after,
                         const RestartPolicy& policy) {
    const bool killed = result.status > first_signal;
    std::string text = "failed first, with exit code " + std::to_string(result.status);
    if (killed) {
        text = "failed first, killed by signal " + std::to_string(result.status - first_signal);
    } else if (result.status == peer_failed) {
        text = "ended (exit code 3) because another had failed, or hung";
    }
    text += "; the other ranks were ended";
    if (after.no_progress) {
        const std::string& newest = after.newest_checkpoint;
        return text + ". " + std::to_string(max_restarts_without_progress) +
               " restarts in a row saved no " +
               (newest.empty() ? "checkpoint" : "newer checkpoint than " + newest) +
               ", so no other one is made";
    }
    if (after.restart == 0) return text;
    return text + ", all start again " +
           (after.pause_ms > 0 ? "in " + seconds_text(after.pause_ms) + " " : "") + "(restart " +
           std::to_string(after.restart) + " of " + std::to_string(policy.max_restarts) + ")";
}

std::string ended_by_request(const GroupResult& result) {
    if (result.signal == 0) return "";
    const std::string request = signal_name(result.signal);
    switch (result.killed) {
        case KilledAtRequest::at_second_interrupt:
            return "stopped at once at the second Ctrl-C";
        case KilledAtRequest::when_time_was_over:
            return "the ranks had not ended in time after " + request + " and were killed";
        case KilledAtRequest::no:
            break;
    }
    // A rank may end by the signal itself before it has begun to train.
    return result.status == first_signal + result.signal ? "stopped at once by " + request : "";
}

int exit_code_of(const GroupResult& result) noexcept {
    if (result.failed_rank < 0) return 0;
    if (result.killed != KilledAtRequest::no) return 1;
    return result.status > first_signal ? 1 : result.status;
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl_session.hpp"

#include <algorithm>
#include <chrono>

#include "runtime/device/cuda_check.hpp"

namespace lockstep::comm {

namespace {

using std::chrono::milliseconds;

std::string seconds_of(int ms) { return std::to_string((ms + 999) / 1000) + " s"; }

bool is_done(cudaEvent_t event) {
    const cudaError_t result = cudaEventQuery(event);
    if (result == cudaErrorNotReady) return false;
    device::check(result, "cudaEventQuery");
    return true;
}

}  // namespace

std::chrono::microseconds pause_before_look(int looks) noexcept {
    constexpr int looks_without_pause = 200;
    return std::chrono::microseconds(looks < looks_without_pause ? 0 : 50);
}

NcclSession::NcclSession(int device, int timeout_ms, const Connect& connect)
    : timeout_ms_(timeout_ms) {
    const auto until = Clock::now() + milliseconds(timeout_ms);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    std::unique_lock lock(mutex_);
    try {
        const ncclResult_t result =
            settle(lock, connect(library_, &comm_, &config), until, "joining by NCCL");
        library_.check(result, "joining by NCCL", comm_);
        library_.check(library_.user_rank(comm_, &rank_), "ncclCommUserRank", comm_);
        library_.check(library_.count(comm_, &size_), "ncclCommCount", comm_);
    } catch (...) {
        if (comm_ != nullptr) library_.abort(comm_);
        throw;
    }
    watcher_ = std::thread([this, device] { run(device); });
}

NcclSession::~NcclSession() {
    {
        const std::lock_guard lock(mutex_);
        leaving_ = true;
        ending_.notify_all();
    }
    watcher_.join();
    try {
        end();
    } catch (const std::exception&) {
        // Whatever it is, the other ranks hear of it by the end of this one.
    }
    if (comm_ != nullptr) library_.abort(comm_);
}

void NcclSession::end() {
    // Peers wait for operations that this rank will never join: better that they hear of it now.
    if (failure_ || comm_ == nullptr || std::uncaught_exceptions() > unwinding_) return;
    const auto until = Clock::now() + milliseconds(timeout_ms_);
    std::unique_lock lock(mutex_);
    const ncclResult_t result = settle(lock, library_.finalize(comm_), until, "leaving NCCL");
    if (result != ncclSuccess) return;
    library_.destroy(comm_);
    comm_ = nullptr;
}

// What became of a call that may still be going on. Others look and abort meanwhile.
ncclResult_t NcclSession::settle(std::unique_lock<std::mutex>& lock, ncclResult_t result,
                                 Clock::time_point until, const std::string& what) {
    for (int looks = 0; result == ncclInProgress; ++looks) {
        if (Clock::now() > until)
            throw Error(ErrorKind::peer,
                        what + ": no answer from the other ranks for " + seconds_of(timeout_ms_) +
                            ": was every rank started, and can their GPUs reach each other?");
        lock.unlock();
        const auto pause = pause_before_look(looks);
        if (pause.count() == 0) std::this_thread::yield();
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        lock.lock();
        if (failure_) std::rethrow_exception(failure_);
        library_.check(library_.get_async_error(comm_, &result), "ncclCommGetAsyncError", comm_);
    }
    return result;
}

void NcclSession::call(const std::string& what,
                       const std::function<ncclResult_t(ncclComm_t)>& function) {
    const auto until = Clock::now() + milliseconds(timeout_ms_);
    std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    try {
        library_.check(settle(lock, function(comm_), until, what), what, comm_);
    } catch (...) {
        abort_locked(std::current_exception());
        throw;
    }
}

void NcclSession::watch(const std::string& what, cudaEvent_t begin, cudaEvent_t end) {
    const std::lock_guard lock(mutex_);
    operations_.push_back({what, begin, end, std::nullopt});
}

void NcclSession::check() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

void NcclSession::abort(std::exception_ptr reason) {
    const std::lock_guard lock(mutex_);
    abort_locked(std::move(reason));
}

void NcclSession::abort_locked(std::exception_ptr reason) {
    if (!failure_) failure_ = std::move(reason);
    if (comm_ != nullptr) library_.abort(comm_);
    comm_ = nullptr;
}

Activity NcclSession::activity() const {
    const std::lock_guard lock(mutex_);
    Activity activity = activity_;
    activity.waited_for = activity.waited_for && !activity.operation.empty();
    return activity;
}

void NcclSession::set_waited_for(bool waited_for) {
    const std::lock_guard lock(mutex_);
    activity_.waited_for = waited_for;
}

void NcclSession::run(int device) {
    const auto interval = milliseconds(std::clamp(timeout_ms_ / 10, 1, 100));
    std::unique_lock lock(mutex_);
    try {
        device::check(cudaSetDevice(device), "cudaSetDevice");
        while (!leaving_ && !failure_) {
            look();
            ending_.wait_for(lock, interval);
        }
    } catch (...) {
        abort_locked(std::current_exception());
    }
}

void NcclSession::look() {
    while (!operations_.empty() && is_done(operations_.front().end)) {
        operations_.pop_front();
        ++activity_.completed;
    }
    activity_.operation.clear();
    ncclResult_t result = ncclSuccess;
    library_.check(library_.get_async_error(comm_, &result), "ncclCommGetAsyncError", comm_);
    if (operations_.empty()) return library_.check(result, "NCCL", comm_);

    Operation& first = operations_.front();
    const std::string where = first.what + " on rank " + std::to_string(rank_);
    library_.check(result, where, comm_);
    if (!first.running_since && is_done(first.begin)) first.running_since = Clock::now();
    if (first.running_since) activity_.operation = first.what;
    if (first.running_since && Clock::now() - *first.running_since > milliseconds(timeout_ms_))
        throw Error(ErrorKind::peer,
                    where + ": not done after " + seconds_of(timeout_ms_) + ": another rank hangs");
}

}  // namespace lockstep::comm

// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl/nccl_session.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/comm/nccl/nccl_join.hpp"
#include "runtime/device/cuda/cuda_check.hpp"

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

NcclSession::NcclSession(std::shared_ptr<NcclLauncher> launcher, int device, int timeout_ms,
                         const Connect& connect)
    : launcher_(std::move(launcher)), device_(device), timeout_ms_(timeout_ms) {
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
    lock.unlock();
    launcher_->add(*this);
}

NcclSession::~NcclSession() {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failure_ || queued_.empty(); });
    }
    launcher_->remove(*this);
    try {
        end();
    } catch (const std::exception&) {
        // The error is dropped: the other ranks notice it when this rank ends.
    }
    if (comm_ != nullptr) library_.abort(comm_);
}

void NcclSession::end() {
    if (failure_ || comm_ == nullptr) return;
    const auto until = Clock::now() + milliseconds(timeout_ms_);
    std::unique_lock lock(mutex_);
    const ncclResult_t result = settle(lock, library_.finalize(comm_), until, "leaving NCCL");
    if (result != ncclSuccess) return;
    library_.destroy(comm_);
    comm_ = nullptr;
}

// Waits for the result of a call that may still be in progress: ncclCommSplit returns success even
// then, so that the communicator itself is asked. It releases the lock between looks so that other
// threads can look and abort.
ncclResult_t NcclSession::settle(std::unique_lock<std::mutex>& lock, ncclResult_t result,
                                 Clock::time_point until, const std::string& what) {
    const auto ask = [&] {
        library_.check(library_.get_async_error(comm_, &result), "ncclCommGetAsyncError", comm_);
    };
    if (result == ncclSuccess) ask();
    for (int looks = 0; result == ncclInProgress; ++looks) {
        if (Clock::now() > until)
            throw Error(ErrorKind::peer, what + ": no answer from the other ranks for " +
                                             seconds_of(timeout_ms_) + ": " + advice_on_nccl_join);
        lock.unlock();
        const auto pause = pause_before_look(looks);
        if (pause.count() == 0) std::this_thread::yield();
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        lock.lock();
        if (failure_) std::rethrow_exception(failure_);
        ask();
    }
    return result;
}

std::uint64_t NcclSession::queue(Operation operation) {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        queued_.push_back(std::move(operation));
        number = accepted_operations_ + queued_.size();
    }
    launcher_->launch(*this);
    return number;
}

void NcclSession::await_acceptance(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [&] { return failure_ || queued_.empty(); });
    if (failure_) std::rethrow_exception(failure_);
}

void NcclSession::wait_until_accepted(std::uint64_t operations) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || accepted_operations_ >= operations; });
    if (failure_) std::rethrow_exception(failure_);
}

Clock::time_point NcclSession::operation_deadline() const noexcept {
    return Clock::now() + milliseconds(operation_ms_);
}

void NcclSession::call(const std::string& what, const Call& call) {
    std::unique_lock lock(mutex_);
    await_acceptance(lock);
    const auto until = operation_deadline();
    try {
        library_.check(settle(lock, call(comm_), until, what), what, comm_);
    } catch (...) {
        abort_locked(std::current_exception());
        throw;
    }
}

void NcclSession::check() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

void NcclSession::abort(std::exception_ptr reason) {
    const std::lock_guard lock(mutex_);
    abort_locked(std::move(reason));
}

// NCCL's abort returns only when NCCL has freed everything; no setting of the communicator changes
// that.
void NcclSession::abort_locked(std::exception_ptr reason) {
    if (!failure_) failure_ = std::move(reason);
    if (comm_ != nullptr) library_.abort(comm_);
    comm_ = nullptr;
    changed_.notify_all();
}

Activity NcclSession::activity() const {
    const std::lock_guard lock(activity_mutex_);
    Activity activity = activity_;
    activity.waited_for = activity.waited_for && !activity.operation.empty();
    return activity;
}

void NcclSession::set_waited_for(bool waited_for) {
    const std::lock_guard lock(activity_mutex_);
    activity_.waited_for = waited_for;
}

template <class Task>
void NcclSession::attempt(const Task& task) noexcept {
    std::unique_lock lock(mutex_);
    if (failure_) return;
    try {
        task(lock);
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        abort_locked(std::current_exception());
    }
}

void NcclSession::launch_next() noexcept {
    attempt([this](auto& lock) { launch(lock); });
}

void NcclSession::look() noexcept {
    attempt([this](auto&) { look_at_first(); });
}

// Nothing may be queued on the stream before NCCL has accepted the call. NCCL launches it from a
// thread of its own, and the caller of queue() would have to wait for that thread.
void NcclSession::launch(std::unique_lock<std::mutex>& lock) {
    const Operation& first = queued_.front();
    lock.unlock();
    device::check(cudaSetDevice(device_), "cudaSetDevice");
    device::check(cudaStreamWaitEvent(first.stream, first.after, 0), "cudaStreamWaitEvent");
    device::check(cudaEventRecord(first.begin, first.stream), "cudaEventRecord");
    lock.lock();
    if (failure_) return;
    if (accepted_.empty()) {
        const std::lock_guard activity_lock(activity_mutex_);
        activity_.operation = first.what;  // NCCL may have to connect to the others
    }
    const auto until = operation_deadline();
    library_.check(settle(lock, first.call(comm_), until, first.what), first.what, comm_);
    device::check(cudaEventRecord(first.end, first.stream), "cudaEventRecord");
    accepted_.push_back({first.what, first.begin, first.end, std::nullopt});
    queued_.pop_front();
    ++accepted_operations_;
    changed_.notify_all();
}

void NcclSession::look_at_first() {
    std::int64_t completed = 0;
    for (; !accepted_.empty() && is_done(accepted_.front().end); ++completed) accepted_.pop_front();
    Accepted* const first = accepted_.empty() ? nullptr : &accepted_.front();
    if (first != nullptr && !first->running_since && is_done(first->begin))
        first->running_since = Clock::now();
    const bool running = first != nullptr && first->running_since;
    {
        const std::lock_guard lock(activity_mutex_);
        activity_.completed += completed;
        activity_.operation = running ? first->what : "";
    }
    const std::string where =
        first == nullptr ? "NCCL" : first->what + " on rank " + std::to_string(rank_);
    ncclResult_t result = ncclSuccess;
    library_.check(library_.get_async_error(comm_, &result), "ncclCommGetAsyncError", comm_);
    library_.check(result, where, comm_);
    if (running && Clock::now() - *first->running_since > milliseconds(operation_ms_))
        throw Error(ErrorKind::peer, where + ": not done after " + seconds_of(operation_ms_) +
                                         ": another rank hangs");
}

}  // namespace lockstep::comm

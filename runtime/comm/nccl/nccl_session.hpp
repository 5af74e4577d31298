// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/nccl_launcher.hpp"
#include "runtime/comm/nccl/nccl_library.hpp"

namespace lockstep::comm {

// Returns the pause before the next look at a call that NCCL has not finished, after `looks` looks.
// A collective is accepted within some tens of microseconds, for which a sleep would be too coarse;
// joining takes seconds.
std::chrono::microseconds pause_before_look(int looks) noexcept;

// Owns an NCCL communicator that never blocks. The launcher's thread gives it the operations and
// watches it. When NCCL reports an error or an operation runs longer than the time-out, the thread
// aborts the communicator. The GPU and any waiting thread then go on, and every later call throws
// the error.
class NcclSession final : NcclLauncher::Group {
public:
    // Makes the communicator or begins to make it.
    using Connect = std::function<ncclResult_t(const NcclLibrary&, ncclComm_t*, ncclConfig_t*)>;

    // Waits until all ranks have joined. Throws kind peer after the time-out.
    NcclSession(std::shared_ptr<NcclLauncher> launcher, int device, int timeout_ms,
                const Connect& connect);
    // Waits for the other ranks to leave as well unless the session has failed.
    ~NcclSession();
    NcclSession(const NcclSession&) = delete;
    NcclSession& operator=(const NcclSession&) = delete;

    const NcclLibrary& library() const noexcept { return library_; }
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }

    using Call = std::function<ncclResult_t(ncclComm_t)>;

    // Describes work for a GPU on `stream` after the recorded event `after`, between two events
    // that the session records. No event is recorded again before it is done.
    struct Operation {
        std::string what;
        Call call;
        cudaStream_t stream;
        cudaEvent_t after, begin, end;
    };

    // Returns at once, with the number of operations queued so far. Only sessions of the same
    // launcher may use the stream before wait_until_accepted() has returned for it.
    std::uint64_t queue(Operation operation);
    // Blocks the host until NCCL has accepted the first `operations` queued operations. The events
    // of these are recorded then.
    void wait_until_accepted(std::uint64_t operations);
    // Calls NCCL after all queued operations and waits until it has accepted the call. call() and
    // check() throw the error of this or an earlier operation.
    void call(const std::string& what, const Call& call);
    void check();
    // Ends all waits; later calls throw the first reason. Any thread may call it.
    void abort(std::exception_ptr reason);
    // Any thread may call it. The activity is `waited_for` while set_waited_for(true) holds and an
    // operation runs; before the operation runs, the GPU computes.
    Activity activity() const;
    void set_waited_for(bool waited_for);
    // Changes the time limit of operations, but not that of leaving. Any thread may call it.
    void set_timeout(int timeout_ms) noexcept { operation_ms_ = timeout_ms; }

private:
    struct Accepted {
        std::string what;
        cudaEvent_t begin, end;
        std::optional<Clock::time_point> running_since;
    };

    ncclResult_t settle(std::unique_lock<std::mutex>& lock, ncclResult_t result,
                        Clock::time_point until, const std::string& what);
    void await_acceptance(std::unique_lock<std::mutex>& lock);
    void launch_next() noexcept override;
    void look() noexcept override;
    template <class Task>
    void attempt(const Task& task) noexcept;
    void launch(std::unique_lock<std::mutex>& lock);
    void look_at_first();
    void end();
    Clock::time_point operation_deadline() const noexcept;
    void abort_locked(std::exception_ptr reason);

    const std::shared_ptr<NcclLauncher> launcher_;
    NcclLibrary library_;
    const int device_;
    int timeout_ms_, rank_ = 0, size_ = 1;
    std::atomic<int> operation_ms_{timeout_ms_};

    std::mutex mutex_;  // guards NCCL's calls and the members below except the activity
    std::condition_variable changed_;
    ncclComm_t comm_ = nullptr;  // null after an abort
    std::exception_ptr failure_;
    // NCCL may have the first operation already but not have accepted it yet.
    std::deque<Operation> queued_;
    std::deque<Accepted> accepted_;
    std::uint64_t accepted_operations_ = 0;
    // The activity has its own mutex because it is read while an abort, which may take long, holds
    // the other.
    mutable std::mutex activity_mutex_;
    Activity activity_;
};

}  // namespace lockstep::comm

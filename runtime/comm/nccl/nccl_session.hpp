// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/nccl_library.hpp"

namespace lockstep::comm {

// How long to wait before one more look at a call that NCCL is still at, after so many looks. A
// collective is accepted within some tens of microseconds, for which a sleep would be too coarse;
// joining takes seconds.
std::chrono::microseconds pause_before_look(int looks) noexcept;

// One NCCL communicator that never blocks, with a thread that hands it the operations and watches
// it: when NCCL reports an error, or an operation runs for longer than the time-out, it is aborted,
// so that the GPU and whoever waits for it go on, and every later call throws what went wrong.
class NcclSession {
public:
    // Makes the communicator, or begins to.
    using Connect = std::function<ncclResult_t(const NcclLibrary&, ncclComm_t*, ncclConfig_t*)>;

    // Waits until all ranks are there; throws kind peer after the time-out.
    NcclSession(int device, int timeout_ms, const Connect& connect);
    // Waits for the other ranks to end as well unless it has failed.
    ~NcclSession();
    NcclSession(const NcclSession&) = delete;
    NcclSession& operator=(const NcclSession&) = delete;

    const NcclLibrary& library() const noexcept { return library_; }
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }

    using Call = std::function<ncclResult_t(ncclComm_t)>;

    // What a GPU does on `stream` behind the recorded event `after`, between two events that the
    // session records. None of them is recorded anew before it is done.
    struct Operation {
        std::string what;
        Call call;
        cudaStream_t stream;
        cudaEvent_t after, begin, end;
    };

    // Returns at once; nobody else uses the stream before wait_until_accepted() has returned.
    void queue(Operation operation);
    // Waits, for the host's time alone, until NCCL has accepted all that was queued.
    void wait_until_accepted();
    // Calls NCCL after all that was queued, and waits until it has accepted the call. These throw
    // what went wrong, now or before, as does
    void call(const std::string& what, const Call& call);
    void check();
    // From any thread. The first reason counts.
    void abort(std::exception_ptr reason);
    // From any thread. It is waited for while the caller says so and an operation runs: until then
    // the GPU computes.
    Activity activity() const;
    void set_waited_for(bool waited_for);

private:
    struct Accepted {
        std::string what;
        cudaEvent_t begin, end;
        std::optional<Clock::time_point> running_since;
    };

    ncclResult_t settle(std::unique_lock<std::mutex>& lock, ncclResult_t result,
                        Clock::time_point until, const std::string& what);
    void await_acceptance(std::unique_lock<std::mutex>& lock);
    void run(int device);
    void launch(std::unique_lock<std::mutex>& lock);
    void look();
    void end();
    void abort_locked(std::exception_ptr reason);

    NcclLibrary library_;
    int timeout_ms_, rank_ = 0, size_ = 1;

    std::mutex mutex_;  // of NCCL's calls and what follows, but for the activity
    std::condition_variable changed_;
    ncclComm_t comm_ = nullptr;  // null: aborted
    std::exception_ptr failure_;
    std::deque<Operation> queued_;  // the first one may be with NCCL, which has not accepted it
    std::deque<Accepted> accepted_;
    bool leaving_ = false;
    mutable std::mutex activity_mutex_;  // an abort may take long, and is told of meanwhile
    Activity activity_;
    std::thread watcher_;  // last: it uses all of the above
};

}  // namespace lockstep::comm

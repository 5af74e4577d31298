// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/queue/worker.hpp"
#include "runtime/comm/tape.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

// Makes a blocking transport asynchronous: a worker's thread makes every call of the library, in
// the order of the queue. After the first failure all later operations fail without running.
class QueuedCommunicator : public Communicator {
public:
    using Connect = std::function<std::unique_ptr<Transport>()>;

    // Calls `connect` on a new worker and waits; throws the exception of `connect`.
    explicit QueuedCommunicator(const Connect& connect);
    // Does the same with a `connect` that may never return. It throws kind peer after `timeout_ms`
    // and leaves `connect` running on its thread, so `connect` must own everything it uses.
    QueuedCommunicator(Connect connect, int timeout_ms);
    // Abandons the operations that finish() has not waited for.
    ~QueuedCommunicator() override;

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }

    Ticket all_reduce(HostRange range, ReduceOp reduction, std::string label) override;
    Ticket reduce_scatter(HostRange range, ReduceOp reduction, std::string label) override;
    Ticket all_gather(HostRange from, HostRange to, std::string label) override;
    Ticket broadcast(HostRange range, int root, std::string label) override;
    Ticket send(HostRange range, int to, std::string label) override;
    Ticket recv(HostRange range, int from, std::string label) override;
    Ticket exchange(std::optional<Message> sent, std::optional<Message> received,
                    std::string label) override;
    Ticket barrier(std::string label) override;
    Ticket run(std::function<void()> work, std::string label) override;
    void finish() override;
    void finish(Ticket through) override;
    // The new communicator shares the worker, because a library may require that one thread makes
    // all calls. When this one gives up, leaves or ends with an exception, so does the new one.
    // Messages of both name this rank by its number here.
    std::unique_ptr<Communicator> split(int colour) override;
    std::unique_ptr<Collectives<HostSpace>> lone_group() override;
    std::vector<Timing> take_timings() override;
    // When it returns, no operation uses the caller's memory any more. Later operations fail. After
    // leave_together() it has nothing to do.
    void give_up() override;
    Activity activity() const override;
    void abort(int exit_code) override;
    void leave_together() override;
    void set_timeout(int timeout_ms) override;

private:
    struct State;
    using Operation = std::function<void(Transport&)>;

    QueuedCommunicator(const QueuedCommunicator& whole, std::unique_ptr<Transport> transport);
    void adopt(std::unique_ptr<Transport> transport);
    // `bytes` is what this rank sends.
    Ticket enqueue(const char* what, std::string label, std::int64_t bytes, Operation operation);
    std::int64_t bytes_of_call(TapedCall call, const HostRange& range) const;
    // Queues the task under the next ticket. `task` must not throw.
    Ticket post(std::function<void()> task);

    std::shared_ptr<Worker> worker_;
    std::shared_ptr<State> state_;  // shared with the queued tasks
    int rank_ = 0;
    int size_ = 1;
    std::uint64_t queued_ = 0;  // the last ticket's number
    int unwinding_ =
        std::uncaught_exceptions();  // number at construction: more at the end means no clean end
};

}  // namespace lockstep::comm

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// Lists the operations that a library of collectives must offer to become a Communicator. Each
// returns when it is done and throws kind peer when another rank failed or timed out. All calls
// come from one thread (the Worker), including construction and destruction.
class Transport {
public:
    virtual ~Transport() = default;

    virtual int rank() const noexcept = 0;
    virtual int size() const noexcept = 0;

    virtual void all_reduce(HostRange range, ReduceOp reduction) = 0;
    virtual void reduce_scatter(HostRange range, ReduceOp reduction) = 0;
    virtual void all_gather(HostRange from, HostRange to) = 0;
    virtual void broadcast(HostRange range, int root) = 0;
    virtual void send(HostRange range, int to) = 0;
    virtual void recv(HostRange range, int from) = 0;
    virtual void exchange(std::optional<Message> sent, std::optional<Message> received) = 0;
    virtual void barrier() = 0;
    virtual std::unique_ptr<Transport> split(int colour) = 0;

    // Makes the operation in progress end soon with an exception, and all later ones too, on this
    // rank and on ranks that wait for it. Any thread may call it.
    virtual void interrupt() noexcept = 0;
    // Works as Communicator::abort.
    virtual void abort(int /*exit_code*/) noexcept {}
    // Works as Communicator::set_timeout.
    virtual void set_timeout(int /*timeout_ms*/) noexcept {}
};

}  // namespace lockstep::comm

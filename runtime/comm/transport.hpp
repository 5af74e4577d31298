// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// What a library of collectives must offer to become a Communicator: the same operations, each
// returning when it is done and throwing kind peer when another rank failed or timed out. All
// calls come from one thread (the Worker), construction and destruction included.
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
    virtual void barrier() = 0;
    virtual std::unique_ptr<Transport> split(int colour) = 0;

    // From any thread: the operation in progress ends soon, by an exception, and so
    // do all later ones, here and where they wait for this rank.
    virtual void interrupt() noexcept = 0;
    // As Communicator::abort.
    virtual void abort(int /*exit_code*/) noexcept {}
};

}  // namespace lockstep::comm

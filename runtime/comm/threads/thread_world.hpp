// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

struct ThreadWorldState;

// Makes ranks that are threads of one process. Sums are taken in rank order, so they are the same
// in every run.
class ThreadWorld {
public:
    explicit ThreadWorld(int size);

    // Returns the communicator of one rank. Call it once for each rank, from any thread. The
    // communicator may outlive the world.
    std::unique_ptr<Communicator> join(int rank);

    // Returns the rank's transport without a thread and a queue, for communicators that are built
    // differently.
    std::unique_ptr<Transport> transport(int rank);

    // Makes every current and later operation on any rank throw kind peer.
    void fail() noexcept;

private:
    std::shared_ptr<ThreadWorldState> state_;
};

// Runs `body` once for each rank, each on its own thread. When a body throws, the other ranks'
// operations throw kind peer. When all have ended, the first exception that is not of kind peer
// (which is a consequence of another) is rethrown, or the first one if all are.
void run_as_threads(int size, const std::function<void(Communicator&)>& body);

}  // namespace lockstep::comm

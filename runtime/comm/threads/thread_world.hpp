// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

struct ThreadWorldState;

// Ranks as threads of one process. Sums are taken in rank order, so they are the same at every run.
class ThreadWorld {
public:
    explicit ThreadWorld(int size);

    // The communicator of one rank; each rank once, from any thread. May outlive the world.
    std::unique_ptr<Communicator> join(int rank);

    // The same without a thread and a queue, for communicators built differently.
    std::unique_ptr<Transport> transport(int rank);

    // Every operation that waits or is yet to come, on any rank, throws kind peer.
    void fail() noexcept;

private:
    std::shared_ptr<ThreadWorldState> state_;
};

// Runs `body` once for each rank, each on its own thread. When a body throws, the other ranks'
// operations throw kind peer; when all have ended, the first exception
// that is not of kind peer (a consequence of another) is rethrown, else the first.
void run_as_threads(int size, const std::function<void(Communicator&)>& body);

}  // namespace lockstep::comm

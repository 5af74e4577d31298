// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

enum class Teller { this_rank, another };

// Ends all ranks, each with its own error. Those that tell theirs print it before any rank ends,
// because mpirun kills the others then. Throws AlreadyTold, or the error if this rank is alone.
// Every rank calls it.
[[noreturn]] void refuse_together(comm::Communicator& communicator, const comm::RankInfo& self,
                                  Teller teller, const Error& error);

// Calls `check`, which throws on all ranks or on none, and returns its result. Rank 0 tells the
// error. Every rank calls it.
template <class Check>
auto checked_alike(comm::Communicator& communicator, const comm::RankInfo& self,
                   const Check& check) {
    try {
        return check();
    } catch (const Error& error) {
        if (self.size == 1) throw;
        refuse_together(communicator, self, self.rank == 0 ? Teller::this_rank : Teller::another,
                        error);
    }
}

// Calls `start`, which may throw an Error on some ranks. If it does, no rank goes on: the first
// such rank tells its error, each of them ends with its own, and the others with ErrorKind::peer.
// Another exception is a failure of this rank alone, as at any other time. Every rank calls it.
void start_together(comm::Communicator& communicator, const comm::RankInfo& self,
                    const std::function<void()>& start);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>

#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::comm {

// Marks this rank as waiting in MPI_Init while the object lives: after a short time a thread tells
// the other ranks so through PMIx.
class MissingRank {
public:
    explicit MissingRank(const RankInfo& rank_info);

private:
    std::jthread thread_;
};

// Names the ranks that have not come, with their hosts, as far as PMIx tells within `patience_ms`.
// Call it on a rank that has waited for MPI_Init until the time-out. Returns an empty text if PMIx
// tells nothing.
std::string roll_call(const RankInfo& rank_info, int patience_ms);

}  // namespace lockstep::comm

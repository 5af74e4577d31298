// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>

#include "runtime/comm/place/rank_info.hpp"

namespace lockstep::comm {

// While it lives: a rank that waits for MPI_Init, and after a moment tells the others so by PMIx.
class MissingRank {
public:
    explicit MissingRank(const RankInfo& place);

private:
    std::jthread thread_;
};

// For a rank that has waited in vain for MPI_Init: which ranks have not come, with their hosts, as
// far as PMIx tells within `patience_ms`. Empty where it tells nothing.
std::string roll_call(const RankInfo& place, int patience_ms);

}  // namespace lockstep::comm

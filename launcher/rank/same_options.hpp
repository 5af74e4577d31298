// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/command_line/compared_options.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

// Throws the same config error on all ranks if the options of one differ from rank 0's. It names
// the first option, its values, rank 0 and the first other rank. These two tell it
// (refuse_together). Collective.
void require_same_options(comm::Communicator& communicator, const comm::RankInfo& self,
                          const ComparedOptions& own);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/place/rank_info.hpp"

namespace lockstep::comm {

// Throws kind config for an interface that this host does not have, or by which it reaches only
// itself where the ranks are on several.
void check_interface(const std::string& interface, const RankInfo& place);

// NCCL's connections take the interface, too, unless its own NCCL_SOCKET_IFNAME says otherwise. To
// be called before there are other threads: it sets that variable.
void tell_nccl(const std::string& interface);

}  // namespace lockstep::comm

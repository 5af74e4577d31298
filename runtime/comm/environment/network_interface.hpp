// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::comm {

// Throws kind config for an interface that this host does not have, that is switched off, or that
// is a loopback although the ranks are on several hosts.
void check_interface(const std::string& interface, const RankInfo& rank_info);

// Makes NCCL's connections use the interface unless NCCL_SOCKET_IFNAME is already set. It sets that
// variable, so call it before there are other threads.
void tell_nccl(const std::string& interface);

}  // namespace lockstep::comm

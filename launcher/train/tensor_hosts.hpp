// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Returns a warning that names the ranks and hosts of the first tensor group that is on several
// hosts, and how many such groups there are; empty: each group is on one host. `hosts` has the host
// of each rank; `tensor` consecutive ranks are a group (comm/mesh.hpp).
std::string tensor_hosts_text(const std::vector<std::string>& hosts, int tensor);

// Returns that warning on rank 0, and nothing on the others. Collective. `host` is this rank's.
std::string tensor_hosts_warning(comm::Communicator& communicator, const std::string& host,
                                 int tensor);

}  // namespace lockstep::launcher

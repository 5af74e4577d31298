// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// The values of all ranks, in the order of the ranks, on every rank. Ranks may have different
// numbers of them. Collective.
std::vector<double> gather(comm::Communicator& communicator, std::vector<double> own,
                           const std::string& label);
std::vector<std::uint64_t> gather(comm::Communicator& communicator, std::vector<std::uint64_t> own,
                                  const std::string& label);

// The texts of all ranks, in the order of the ranks, on rank 0; elsewhere none. Collective.
std::vector<std::string> gather_texts(comm::Communicator& communicator, std::string own,
                                      const std::string& label);

}  // namespace lockstep::launcher

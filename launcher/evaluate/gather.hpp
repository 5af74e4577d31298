// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Returns the values of all ranks on every rank, in the order of the ranks. Ranks may have
// different numbers of values. Collective.
std::vector<double> gather(comm::Communicator& communicator, std::vector<double> own,
                           const std::string& label);
std::vector<std::uint64_t> gather(comm::Communicator& communicator, std::vector<std::uint64_t> own,
                                  const std::string& label);

}  // namespace lockstep::launcher

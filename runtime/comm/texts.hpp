// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// Returns the text of rank `root` on every rank. Collective; `label` names it in failure reports.
std::string broadcast_text(Communicator& communicator, std::string text, int root = 0,
                           const std::string& label = "text");

// Returns the texts of all ranks on rank 0, in the order of the ranks, and nothing on the others.
// Collective.
std::vector<std::string> gather_texts(Communicator& communicator, std::string own,
                                      const std::string& label);

}  // namespace lockstep::comm

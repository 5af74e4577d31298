// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/communicator.hpp"

namespace lockstep::train {

// Tells on every rank whether the ranks below `writers` can write into rank 0's model folder, which
// exists: each makes a file there, and rank 0 looks for them. Nothing remains. Collective.
bool can_all_write(comm::Communicator& ranks, int writers, const std::string& model_folder);

// Returns the absolute path of rank 0's file on every rank if all of them see a file of the same
// path and size; else, or if rank 0 gives no path, an empty text. Collective.
std::string seen_by_all(comm::Communicator& ranks, const std::string& path);

}  // namespace lockstep::train

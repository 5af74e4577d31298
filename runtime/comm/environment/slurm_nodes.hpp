// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lockstep::comm {

// Returns the first host of a Slurm list: "n[07-09,12],m1" gives n07, "rack[1-2]n[3-4]" gives
// rack1n3. Throws kind config when brackets do not match.
std::string first_node(const std::string& nodes);

// Returns the number of tasks on node number `node` of a list such as "4(x2),3" (tasks of each
// node, with repetitions). Empty if there is no such node, or
// if the list is not of this form up to it.
std::optional<int> tasks_on_node(const std::string& tasks_per_node, int node);

}  // namespace lockstep::comm

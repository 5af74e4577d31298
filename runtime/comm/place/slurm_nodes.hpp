// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lockstep::comm {

// The first host of a Slurm list: "n[07-09,12],m1" is n07, "rack[1-2]n[3-4]" is rack1n3. Throws a
// config error when brackets do not match.
std::string first_node(const std::string& nodes);

// Of "4(x2),3" (tasks of each node, repeated), those of the `node`-th; empty: no such node.
std::optional<int> tasks_on_node(const std::string& tasks_per_node, int node);

}  // namespace lockstep::comm

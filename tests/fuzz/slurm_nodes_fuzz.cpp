// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "runtime/comm/environment/slurm_nodes.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is Slurm's list of nodes, and its list of tasks on each node.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string list(fuzz::text_of(data, size));
    fuzz::expect_answer([&] { (void)comm::first_node(list); });
    for (const int node : {0, 1, 7, std::numeric_limits<int>::max()})
        fuzz::expect_answer([&] { (void)comm::tasks_on_node(list, node); });
    return 0;
}

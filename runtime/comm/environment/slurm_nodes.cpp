// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/slurm_nodes.hpp"

#include <cstdint>
#include <sstream>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

std::string first_node(const std::string& nodes) {
    std::string host;
    for (std::size_t i = 0; i < nodes.size() && nodes[i] != ','; ++i) {
        if (nodes[i] != '[') {
            host += nodes[i];
            continue;
        }
        const auto close = nodes.find(']', i);
        if (close == std::string::npos) {
            throw Error(ErrorKind::config,
                        "Slurm's node list " + shown(nodes) + " has no matching ]");
        }
        const std::string inside = nodes.substr(i + 1, close - i - 1);
        host += inside.substr(0, inside.find_first_of(",-"));
        i = close;
    }
    return host;
}

std::optional<int> tasks_on_node(const std::string& tasks_per_node, int node) {
    std::istringstream list(tasks_per_node);
    std::int64_t first = 0;  // a sum of numbers that are ints
    int tasks = 0;
    while (list >> tasks) {
        int repeated = 1;
        if (list.peek() == '(') {
            list.ignore(2);  // "(x"
            list >> repeated;
            list.ignore(1);  // ")"
        }
        const bool ends =
            list.peek() == ',' || list.peek() == std::istringstream::traits_type::eof();
        if (tasks < 1 || repeated < 1 || !ends) return std::nullopt;
        if (node < first + repeated) return tasks;
        first += repeated;
        if (list.peek() == ',') list.ignore(1);
    }
    return std::nullopt;
}

}  // namespace lockstep::comm

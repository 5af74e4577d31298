// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/tensor_hosts.hpp"

#include <algorithm>
#include <cstddef>

#include "launcher/text/units.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

// Returns the hosts of ranks [begin, end), each once, in the order of the ranks.
std::vector<std::string> hosts_between(const std::vector<std::string>& hosts, std::size_t begin,
                                       std::size_t end) {
    std::vector<std::string> distinct;
    for (std::size_t rank = begin; rank < end; ++rank)
        if (std::find(distinct.begin(), distinct.end(), hosts[rank]) == distinct.end())
            distinct.push_back(hosts[rank]);
    return distinct;
}

}  // namespace

std::string tensor_hosts_text(const std::vector<std::string>& hosts, int tensor) {
    const auto group = static_cast<std::size_t>(tensor);
    std::string first;
    std::size_t divided = 0;
    for (std::size_t begin = 0; begin + group <= hosts.size(); begin += group) {
        const std::vector<std::string> distinct = hosts_between(hosts, begin, begin + group);
        if (distinct.size() == 1) continue;
        if (divided == 0)
            first = "ranks " + std::to_string(begin) + "-" + std::to_string(begin + group - 1) +
                    " are on " + printable(joined(distinct));
        ++divided;
    }
    if (divided == 0) return "";
    return "warning: " + std::to_string(divided) + " of " + std::to_string(hosts.size() / group) +
           " groups of tensor ranks are on several hosts (" + first +
           "), and each layer waits for the network: give --tensor a number that divides the ranks "
           "of each host";
}

std::string tensor_hosts_warning(comm::Communicator& communicator, const std::string& host,
                                 int tensor) {
    return tensor_hosts_text(comm::gather_texts(communicator, host, "hosts"), tensor);
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/roll_call.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <vector>

#include "runtime/comm/store_join.hpp"

namespace lockstep::comm {

namespace {

constexpr const char* key = "lockstep.here";
// All ask for all: more would flood the daemons.
constexpr int most_ranks = 64;

std::vector<int> missing_ranks(const PmixClient& pmix, const Place& place, int patience_ms) {
    std::vector<std::future<bool>> here;
    const int asked = std::min(place.size, most_ranks);
    for (int rank = 0; rank < asked; ++rank) {
        here.push_back(std::async(std::launch::async, [&, rank] {
            return rank == place.rank || pmix.get(rank, key, patience_ms).has_value();
        }));
    }
    std::vector<int> missing;
    for (int rank = 0; rank < asked; ++rank) {
        if (!here[static_cast<std::size_t>(rank)].get()) missing.push_back(rank);
    }
    return missing;
}

}  // namespace

void answer_roll_call(PmixClient& pmix, const std::string& host) { pmix.put(key, host); }

std::string roll_call(const Place& place, int patience_ms) {
    constexpr int most_runs = 8;
    const auto pmix = PmixClient::connect();
    if (pmix == nullptr) return "";
    const std::vector<int> missing = missing_ranks(*pmix, place, patience_ms);
    std::map<std::string, std::vector<int>> by_host;
    for (const int rank : missing) {
        by_host[pmix->host_of(rank).value_or("an unknown host")].push_back(rank);
    }
    std::string text;
    for (const auto& [host, ranks] : by_host) {
        text += (text.empty() ? "missing: rank " : "; rank ") + short_list(ranks, most_runs) +
                " on " + host;
    }
    return text;
}

}  // namespace lockstep::comm

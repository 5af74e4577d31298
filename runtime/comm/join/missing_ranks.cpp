// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/join/missing_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/comm/secret/pmix_client.hpp"
#include "runtime/comm/store/store_join.hpp"

namespace lockstep::comm {

namespace {

constexpr const char* key = "lockstep.here";
// Every rank asks for every other rank, so a larger number would flood the PMIx daemons.
constexpr int max_ranks = 64;

std::vector<int> missing_ranks(const PmixClient& pmix, const RankInfo& rank_info, int patience_ms) {
    std::vector<std::future<bool>> here;
    const int asked = std::min(rank_info.size, max_ranks);
    for (int rank = 0; rank < asked; ++rank) {
        here.push_back(std::async(std::launch::async, [&, rank] {
            return rank == rank_info.rank || pmix.get(rank, key, patience_ms).has_value();
        }));
    }
    std::vector<int> missing;
    for (int rank = 0; rank < asked; ++rank) {
        if (!here[static_cast<std::size_t>(rank)].get()) missing.push_back(rank);
    }
    return missing;
}

// Publishes this rank's host through MPI's own PMIx connection as soon as MPI has one.
void tell_of_waiting(const std::stop_token& stop, const std::string& host) {
    using namespace std::chrono_literals;
    constexpr auto moment = 500ms;  // nearly every MPI_Init takes less
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    while (!never.wait_for(lock, stop, moment, [] { return false; }) && !stop.stop_requested()) {
        const auto pmix = PmixClient::of_mpi();
        if (pmix != nullptr && pmix->put(key, host)) return;
    }
}

}  // namespace

MissingRank::MissingRank(const RankInfo& rank_info)
    : thread_(
          [host = rank_info.host](const std::stop_token& stop) { tell_of_waiting(stop, host); }) {}

std::string roll_call(const RankInfo& rank_info, int patience_ms) {
    constexpr int max_runs = 8;
    const auto pmix = PmixClient::connect();
    if (pmix == nullptr) return "";
    const std::vector<int> missing = missing_ranks(*pmix, rank_info, patience_ms);
    std::map<std::string, std::vector<int>> by_host;
    for (const int rank : missing) {
        by_host[pmix->host_of(rank).value_or("an unknown host")].push_back(rank);
    }
    std::string text;
    for (const auto& [host, ranks] : by_host) {
        text += (text.empty() ? "missing: rank " : "; rank ") + short_list(ranks, max_runs) +
                " on " + host;
    }
    return text;
}

}  // namespace lockstep::comm

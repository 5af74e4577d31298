// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_join.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <sstream>

#include "runtime/comm/store/store_server.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

namespace {

constexpr const char* everybody = "join/all";
constexpr const char* unplaced = "join/unplaced";  // ranks without LOCAL_RANK

std::string key_of(int rank) { return "join/" + std::to_string(rank); }

// Returns the host of a rank that has joined; empty if it has not.
std::optional<std::string> host_of(Store& store, int rank) {
    try {
        return store.get(key_of(rank), 0);
    } catch (const Error&) {
        return std::nullopt;
    }
}

// Tells of processes that were not let in, which may be the missing ranks.
std::string refusals(Store& store) {
    try {
        return "; a process with another secret was refused " +
               store.get(StoreServer::refused_key, 0);
    } catch (const Error&) {
        return "";
    }
}

std::string list(const std::set<std::string>& hosts) {
    std::string text;
    std::size_t most = 16;
    for (const auto& host : hosts) {
        text += (text.empty() ? "" : ", ") + (most == 0 ? "..." : host);
        if (most-- == 0) break;
    }
    return text;
}

constexpr int shown_runs = 8;

// Tells which ranks have not come, and on which hosts the others are.
struct Attendance {
    std::vector<int> missing;
    std::set<std::string> hosts;
};

Attendance attendance(Store& store, int size) {
    Attendance found;
    for (int rank = 0; rank < size; ++rank) {
        const auto host = host_of(store, rank);
        if (host) {
            found.hosts.insert(*host);
        } else {
            found.missing.push_back(rank);
        }
    }
    return found;
}

[[noreturn]] void name_missing(Store& store, const RankInfo& rank_info, int timeout_ms) {
    const auto come = store.add("join/count", 0);  // throws if the store itself is lost
    const auto [missing, hosts] = attendance(store, rank_info.size);
    const std::string refused = refusals(store);
    throw Error(ErrorKind::peer,
                "only " + std::to_string(come) + " of " + std::to_string(rank_info.size) +
                    " ranks have come within " + std::to_string(timeout_ms / 1000) +
                    " s; missing: rank " + short_list(missing, shown_runs) +
                    "; those here are on " + list(hosts) + refused +
                    (refused.empty() ? ""
                                     : ". If that is a rank of this job, give all ranks the same "
                                       "LOCKSTEP_SECRET or --secret-file and number of ranks") +
                    ". Start one process for each rank, or give a longer --timeout");
}

// Two processes with one rank would send each other's gradients.
void claim_rank(Store& store, const RankInfo& rank_info) {
    const std::string key = key_of(rank_info.rank);
    if (store.add(key + "/claims", 1) == 1) return store.set(key, rank_info.host);
    throw Error(ErrorKind::config,
                "rank " + std::to_string(rank_info.rank) + " of " + std::to_string(rank_info.size) +
                    " has joined already, from " +
                    host_of(store, rank_info.rank).value_or("another process") +
                    ": start one process for each rank; jobs that run at the same time need a "
                    "--master-port or a secret each");
}

// Ranks that know their places would wait for those that ask the others.
void require_alike(const std::string& count, int size) {
    if (count == "0" || count == std::to_string(size)) return;
    throw Error(ErrorKind::config, count + " of " + std::to_string(size) +
                                       " ranks have no LOCAL_RANK, and the others have: set it for "
                                       "all ranks, or for none");
}

// Waits as get() does until everybody has come, and calls `while_waiting` on the way. Rank 0 may
// ask so often because the store is its own.
void wait_attentively(Store& store, int size, int timeout_ms, const WhileWaiting& while_waiting) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds longest_pause(200);
    const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (auto left = end - Clock::now(); left.count() > 0; left = end - Clock::now()) {
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(left);
        try {
            store.get(everybody, static_cast<int>(std::min(pause, longest_pause).count()));
            return;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::peer) throw;
        }
        store.add("join/count", 0);  // throws if the store itself is lost
        while_waiting([&] { return short_list(attendance(store, size).missing, shown_runs); });
    }
}

}  // namespace

void join_store(Store& store, const RankInfo& rank_info, int timeout_ms,
                const WhileWaiting& while_waiting) {
    claim_rank(store, rank_info);
    if (!rank_info.local_rank_known) store.add(unplaced, 1);
    if (store.add("join/count", 1) == rank_info.size)
        store.set(everybody, std::to_string(store.add(unplaced, 0)));
    const bool attentive = rank_info.rank == 0 && while_waiting;
    if (attentive) wait_attentively(store, rank_info.size, timeout_ms, while_waiting);
    try {
        require_alike(store.get(everybody, attentive ? 0 : timeout_ms), rank_info.size);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::peer) throw;
        name_missing(store, rank_info, timeout_ms);
    }
}

// Rank 0 collects the names, so that N ranks ask the store 2 N times and not N times N.
RankInfo agree_on_local_ranks(Store& store, RankInfo rank_info, int timeout_ms) {
    if (rank_info.local_rank_known) return rank_info;
    constexpr const char* all_hosts = "join/hosts";
    if (rank_info.rank == 0) {
        std::string hosts;
        for (int rank = 0; rank < rank_info.size; ++rank)
            hosts += store.get(key_of(rank), timeout_ms) + '\n';
        store.set(all_hosts, hosts);
    }
    std::istringstream hosts(store.get(all_hosts, timeout_ms));
    int rank = 0, before = 0, together = 0;
    for (std::string host; std::getline(hosts, host); ++rank) {
        if (host != rank_info.host) continue;
        ++together;
        if (rank < rank_info.rank) ++before;
    }
    if (rank_info.local_size_known && rank_info.local_size != together)
        throw Error(ErrorKind::config,
                    "LOCAL_WORLD_SIZE is " + std::to_string(rank_info.local_size) +
                        ", but the number of ranks whose host is called '" + shown(rank_info.host) +
                        "' is " + std::to_string(together) + ": set LOCAL_RANK for each rank");
    rank_info.local_rank = before;
    rank_info.local_size = together;
    rank_info.local_rank_known = rank_info.local_size_known = true;
    return rank_info;
}

std::string short_list(const std::vector<int>& ranks, int max_runs) {
    std::string text;
    for (std::size_t first = 0; first < ranks.size();) {
        std::size_t last = first;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ", ";
        if (max_runs-- == 0) return text + "...";
        text += std::to_string(ranks[first]);
        if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(ranks[last]);
        first = last + 1;
    }
    return text;
}

}  // namespace lockstep::comm

// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/wait_notice.hpp"

#include <condition_variable>
#include <mutex>

#include "runtime/comm/store/store.hpp"

namespace lockstep::launcher {

std::string waiting_line(const comm::RankInfo& rank_info) {
    const std::string self =
        "rank " + std::to_string(rank_info.rank) + " on " + rank_info.host + " waits for ";
    const std::string whom = rank_info.rank == 0
                                 ? std::to_string(rank_info.size - 1) +
                                       (rank_info.size == 2 ? " other rank" : " other ranks")
                                 : std::string("rank 0 and the others");
    if (rank_info.master_addr.empty()) return self + whom + "\n";
    const std::string where = rank_info.one_host() ? "this host" : rank_info.master_addr;
    return self + whom + " at " + where + ", ports " + std::to_string(rank_info.master_port) +
           " to " + std::to_string(rank_info.master_port + comm::store_ports - 1) + "\n";
}

WaitNotice::WaitNotice(const comm::RankInfo& rank_info, std::chrono::milliseconds patience,
                       std::ostream& out) {
    if (rank_info.size == 1 || rank_info.local_rank != 0) return;
    const auto wait_and_tell = [line = waiting_line(rank_info), patience,
                                &out](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any never;
        never.wait_for(lock, stop, patience, [] { return false; });
        if (!stop.stop_requested()) out << line << std::flush;
    };
    thread_ = std::jthread(wait_and_tell);
}

}  // namespace lockstep::launcher

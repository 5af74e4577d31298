// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/rank_wait.hpp"

#include "runtime/core/signal_name.hpp"

namespace lockstep::launcher {

namespace {

// A launcher's ranks all get its signal, so the first one of each host speaks for them. Nobody
// knows who else was started where variables or options alone tell the ranks.
bool tells(const comm::RankInfo& rank_info) {
    const bool by_launcher =
        rank_info.source == comm::RankSource::mpi || rank_info.source == comm::RankSource::slurm;
    return !by_launcher || rank_info.rank == 0 || rank_info.local_rank == 0;
}

std::string others(const comm::RankInfo& rank_info) {
    if (rank_info.rank > 0) return "rank 0 and the others";
    const int count = rank_info.size - 1;
    return std::to_string(count) + (count == 1 ? " other rank" : " other ranks");
}

// `whom` follows "while it waited for".
std::string line(const comm::RankInfo& rank_info, const std::string& whom, int signal) {
    return "rank " + std::to_string(rank_info.rank) + " on " + rank_info.host + " was stopped by " +
           signal_name(signal) + " while it waited for " + whom + "; nothing was trained";
}

}  // namespace

RankWait::RankWait(StopSignal& stop, const comm::RankInfo& rank_info)
    : stop_(stop), rank_info_(rank_info), waits_(rank_info.size > 1) {
    if (!waits_) return;
    require_no_signal();
    stop_.begin_wait([rank_info](int signal) {
        return tells(rank_info) ? line(rank_info, others(rank_info), signal) : "";
    });
}

void RankWait::look(const std::function<std::string()>& missing) {
    if (!waits_ || !stop_.requested()) return;
    const std::string whom =
        "rank " + missing() + " of " + std::to_string(rank_info_.size) + " ranks";
    if (stop_.asked()) told_ = line(rank_info_, whom, stop_.signal());
    throw StoppedWait(told_, code_of_stop(stop_.signal()));
}

void RankWait::require_no_signal() const {
    if (!waits_ || !stop_.requested()) return;
    const int signal = stop_.signal();
    if (!told_.empty()) throw StoppedWait(told_, code_of_stop(signal));
    throw StoppedWait(
        stop_.asked() && tells(rank_info_) ? line(rank_info_, others(rank_info_), signal) : "",
        code_of_stop(signal));
}

void RankWait::end() {
    if (waits_) stop_.end_wait();
    waits_ = false;
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

constexpr std::int64_t shared_bytes_of_rank = std::int64_t{16} << 20;
constexpr std::int64_t own_files = 64;     // files besides connections: shards, libraries, logs
constexpr std::int64_t other_threads = 8;  // threads besides those that compute

std::int64_t ranks_on(const Facts& facts, const std::string& host) {
    return std::count_if(facts.ranks.begin(), facts.ranks.end(),
                         [&](const RankFacts& one) { return one.host == host; });
}

bool below(std::int64_t limit, std::int64_t wanted) { return limit != unlimited && limit < wanted; }

void judge_room(const Facts& facts, Grouped& breaks) {
    if (facts.training_bytes == 0) return;
    for (const RankFacts& one : facts.ranks) {
        const std::int64_t ranks = ranks_on(facts, one.host);
        const std::int64_t needed = ranks * facts.training_bytes;
        const bool limited = one.memory.limit_bytes != unlimited;
        const std::int64_t there = limited ? one.memory.limit_bytes : one.memory.bytes;
        if (needed <= there) continue;
        breaks.add(
            one.rank,
            std::to_string(ranks) + (ranks == 1 ? " rank takes " : " ranks take ") +
                bytes_text(needed) + " of memory (lockstep plan says for what), but " +
                (limited ? "the control group allows " : "the host has ") + bytes_text(there),
            std::string(limited ? "ask for more memory (srun --mem), or " : "") +
                "look for options by lockstep plan --fit auto, start fewer ranks a host, or take a "
                "smaller model or batch");
    }
}

// MPI and NCCL exchange data through /dev/shm. Gloo does not need it.
void judge_shared(const Facts& facts, Grouped& breaks, Grouped& warns) {
    for (const RankFacts& one : facts.ranks) {
        const std::int64_t ranks = ranks_on(facts, one.host);
        const std::int64_t wanted = ranks * shared_bytes_of_rank;
        if (ranks < 2 || one.memory.shared_free_bytes >= wanted) continue;
        const bool used = one.source == "mpi" || facts.computes == Computes::on_gpu;
        (used ? breaks : warns)
            .add(one.rank,
                 "/dev/shm has " + bytes_text(one.memory.shared_free_bytes) +
                     " free; MPI and NCCL "
                     "want about " +
                     bytes_text(wanted) + " for the ranks of a host",
                 "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm");
    }
}

void judge_limits(const Facts& facts, Grouped& breaks, Grouped& warns) {
    const auto threads = threads_of(facts);
    for (std::size_t i = 0; i < facts.ranks.size(); ++i) {
        const RankFacts& one = facts.ranks[i];
        const std::int64_t files = facts.size + own_files;
        if (below(one.limits.open_files, files)) {
            breaks.add(one.rank,
                       "at most " + std::to_string(one.limits.open_files) +
                           " open files; connections and data take " + std::to_string(files),
                       "ulimit -n 65536 before the start, or the host's limits.conf");
        }
        const std::int64_t processes = ranks_on(facts, one.host) * (threads[i] + other_threads);
        if (below(one.limits.processes, processes)) {
            breaks.add(one.rank,
                       "at most " + std::to_string(one.limits.processes) +
                           " processes and threads; the host's ranks start " +
                           std::to_string(processes),
                       "ulimit -u unlimited before the start, or the host's limits.conf");
        }
        if (one.infiniband_devices > 0 && one.limits.locked_bytes != unlimited) {
            warns.add(one.rank,
                      "only " + bytes_text(one.limits.locked_bytes) +
                          " of memory may be locked, so MPI and NCCL cannot use InfiniBand",
                      "ulimit -l unlimited before the start; under Slurm for slurmd");
        }
    }
}

}  // namespace

std::vector<Finding> judge_memory(const Facts& facts) {
    Grouped breaks(facts, Severity::breaks, "memory"), warns(facts, Severity::warns, "memory");
    Grouped limits(facts, Severity::breaks, "limits"), locked(facts, Severity::warns, "limits");
    judge_room(facts, breaks);
    judge_shared(facts, breaks, warns);
    judge_limits(facts, limits, locked);
    std::vector<Finding> found;
    for (const Grouped* group : {&breaks, &warns, &limits, &locked})
        append(found, group->findings());
    return found;
}

}  // namespace lockstep::launcher::doctor

// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/core_limits.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <utility>

#include "launcher/host/control_group.hpp"
#include "launcher/host/core_binding.hpp"
#include "launcher/text/units.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/environment/slurm_cores.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::launcher {

namespace {

using Kind = CoreLimit::Kind;

std::size_t cores_of_host(const std::string& root) {
    std::ifstream file(root + "/sys/devices/system/cpu/online");
    std::string list;
    std::getline(file, list);
    return parse_cpu_list(list).size();
}

using Owner = std::pair<Kind, std::uint64_t>;

Owner owner(const CoreLimit& limit) { return {limit.kind, limit.id}; }

// Of ranks that share, the first ones get what does not divide evenly.
int share_of(const CoreLimit& limit, int ranks, int before) {
    const int whole = static_cast<int>(limit.cores);
    return whole / ranks + (before < whole % ranks ? 1 : 0);
}

}  // namespace

CoreLimit binding_limit(const std::string& host, const std::vector<int>& cores) {
    return {Kind::binding, static_cast<double>(std::max<std::size_t>(cores.size(), 1)),
            hash64(cores.data(), cores.size() * sizeof(int), hash64(host))};
}

std::vector<CoreLimit> core_limits(const comm::Environment& environment, const std::string& root) {
    const std::string host = comm::host_name();
    const std::vector<int> bound = bound_cores();
    std::vector<CoreLimit> limits{binding_limit(host, bound)};
    for (const CpuGroup& group : cpu_groups(root))
        limits.push_back(
            {Kind::control_group, group.cores, hash64(&group.id, sizeof group.id, hash64(host))});
    const auto slurm = comm::slurm_cores(environment);
    if (slurm && bound.size() >= cores_of_host(root))
        limits.push_back(
            {Kind::slurm, static_cast<double>(slurm->count), hash64(slurm->owner, hash64(host))});
    return limits;
}

std::vector<ThreadShare> thread_shares(const std::vector<std::vector<CoreLimit>>& of_ranks) {
    std::map<Owner, int> ranks, before;
    for (const auto& limits : of_ranks)
        for (const CoreLimit& limit : limits) ++ranks[owner(limit)];
    std::vector<ThreadShare> shares;
    for (const auto& limits : of_ranks) {
        ThreadShare least;
        least.threads = std::numeric_limits<int>::max();
        for (const CoreLimit& limit : limits) {
            const int sharing = ranks[owner(limit)];
            const int threads = share_of(limit, sharing, before[owner(limit)]++);
            const bool binds = limit.kind == Kind::binding;
            if (binds) least.bound = static_cast<int>(limit.cores);
            const std::pair now{threads, limit.cores},
                before_it{least.threads, least.decided_by.cores};
            if (now > before_it || (now == before_it && !binds)) continue;
            least = {threads, sharing, limit, least.bound};
        }
        least.threads = limits.empty() ? 1 : std::max(1, least.threads);
        shares.push_back(least);
    }
    return shares;
}

bool is_counted_from(const ThreadShare& share, int threads) noexcept {
    const int least = static_cast<int>(share.decided_by.cores) / share.ranks;
    return threads == share.threads || threads == std::max(1, least);
}

std::string counted_from(const ThreadShare& share) {
    if (share.decided_by.kind == Kind::binding) return "";
    const std::string who =
        share.decided_by.kind == Kind::slurm ? "Slurm gives " : "the control group allows ";
    return who + digits(share.decided_by.cores) + " of " + std::to_string(share.bound) + " cores";
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/memory_limits.hpp"

#include <algorithm>

#include "launcher/host/control_group.hpp"
#include "launcher/host/host_facts.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::launcher {

namespace {

// Every rank sends as many limits: its host's and the innermost groups'.
constexpr std::size_t sent_limits = 8, words_of_rank = 2 + sent_limits;

MemoryLimit limit_of(const MemoryGroup& group, std::int64_t swap) {
    MemoryLimit limit;
    limit.id = hash64(&group.id, sizeof group.id, hash64(comm::host_name()));
    limit.bytes = group.bytes + (group.swap == unlimited ? swap : std::min(swap, group.swap));
    limit.free = group.bytes - group.used;
    // Beyond memory.high the kernel only slows the group.
    if (group.high != unlimited) limit.free = std::min(limit.free, group.high - group.used);
    limit.free = std::max<std::int64_t>(limit.free, 0);
    limit.owner = "the control group " + group.folder + " allows";
    limit.to_raise = "raise the group's limit";
    return limit;
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const std::string& root) {
    const Memory host = memory(root);
    std::vector<MemoryLimit> limits;
    if (host.bytes > 0)
        limits.push_back({hash64(comm::host_name()), host.bytes + host.swap_bytes,
                          host.available_bytes, "this host has", "use a host with more"});
    for (MemoryGroup group : memory_groups(root)) {
        if (group.bytes == unlimited) group.bytes = host.bytes;  // it has memory.high alone
        limits.push_back(limit_of(group, host.swap_bytes));
    }
    if (limits.size() > sent_limits) limits.resize(sent_limits);
    return limits;
}

std::vector<SharedNeed> shared_needs(const MemoryNeed& own, const std::vector<MemoryLimit>& limits,
                                     comm::Communicator& communicator) {
    std::vector<std::uint64_t> mine{static_cast<std::uint64_t>(own.certain),
                                    static_cast<std::uint64_t>(own.planned)};
    for (const MemoryLimit& limit : limits) mine.push_back(limit.id);
    mine.resize(words_of_rank, 0);
    std::vector<std::uint64_t> all(mine.size() * static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(mine), view_of(all), "memory");
    communicator.finish();
    std::vector<SharedNeed> needs;
    for (const MemoryLimit& limit : limits) {
        SharedNeed together{{}, 0, communicator.rank()};
        for (int rank = 0; rank < communicator.size(); ++rank) {
            const auto words = all.begin() + rank * static_cast<std::ptrdiff_t>(words_of_rank);
            const auto end = words + static_cast<std::ptrdiff_t>(words_of_rank);
            if (std::find(words + 2, end, limit.id) == end) continue;
            together.need.certain += static_cast<std::int64_t>(words[0]);
            together.need.planned += static_cast<std::int64_t>(words[1]);
            together.first_rank = std::min(together.first_rank, rank);
            ++together.ranks;
        }
        needs.push_back(together);
    }
    return needs;
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/host_memory_check.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "launcher/host/host_facts.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/text/units.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::launcher {

namespace {

std::int64_t total(const HostNeed& need) { return need.pinned + need.copied; }

// Returns what the ranks of this host need together.
std::int64_t need_of_host(const HostNeed& need, comm::Communicator& communicator) {
    std::vector<std::uint64_t> own{hash64(comm::host_name()),
                                   static_cast<std::uint64_t>(total(need))};
    std::vector<std::uint64_t> all(own.size() * static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(own), view_of(all), "memory");
    communicator.finish();
    std::int64_t together = 0;
    for (std::size_t i = 0; i < all.size(); i += own.size())
        if (all[i] == own[0]) together += static_cast<std::int64_t>(all[i + 1]);
    return together;
}

std::string refusal(const HostNeed& need, std::int64_t together, std::int64_t free_bytes) {
    std::string parts = bytes_text(need.pinned) + " pinned";
    if (need.copied > 0) parts += " and " + bytes_text(need.copied) + " for checkpoints";
    const std::string others =
        together > total(need) ? ", with the other ranks here " + bytes_text(together) : "";
    return "--offload optimizer takes " + bytes_text(total(need)) + " of this host's memory (" +
           parts + ")" + others + ", and " + bytes_text(free_bytes) +
           " are free: end other programs, give several ranks --zero 1, or give --offload none";
}

}  // namespace

std::int64_t free_host_bytes() {
    const Memory memory = launcher::memory();
    const bool limited = memory.limit_bytes != unlimited;
    return limited ? std::min(memory.available_bytes, memory.limit_free_bytes)
                   : memory.available_bytes;
}

void require_host_memory(const HostNeed& need, std::int64_t free_bytes,
                         comm::Communicator& communicator, const comm::RankInfo& self) {
    const std::int64_t together = need_of_host(need, communicator);
    const bool fits = together <= free_bytes;
    std::vector<std::uint64_t> without{fits ? 0U : 1U};
    communicator.all_reduce(view_of(without), comm::ReduceOp::sum, "memory");
    communicator.finish();
    if (without.front() == 0) return;
    refuse_together(
        communicator, self, fits ? Teller::another : Teller::this_rank,
        Error(ErrorKind::config, fits ? "another host has no room for --offload optimizer"
                                      : refusal(need, together, free_bytes)));
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/host_memory_check.hpp"

#include <algorithm>
#include <vector>

#include "launcher/host/host_facts.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

std::int64_t free_host_bytes(int ranks_of_host) {
    const Memory memory = launcher::memory();
    const bool limited = memory.limit_bytes != unlimited;
    const std::int64_t free = limited ? std::min(memory.available_bytes, memory.limit_free_bytes)
                                      : memory.available_bytes;
    return free / std::max(ranks_of_host, 1);
}

void require_room_to_pin(std::int64_t pinned_bytes, std::int64_t free_bytes,
                         comm::Communicator& communicator) {
    const bool fits = pinned_bytes <= free_bytes;
    std::vector<std::uint64_t> without{fits ? 0U : 1U};
    communicator.all_reduce(view_of(without), comm::ReduceOp::sum, "memory");
    communicator.finish();
    if (!fits)
        throw Error(ErrorKind::config,
                    "--offload optimizer pins " + bytes_text(pinned_bytes) +
                        " of the host's memory for each rank, and " + bytes_text(free_bytes) +
                        " are left for it: end other programs, give several ranks --zero 1, or "
                        "give --offload none");
    if (without.front() > 0)
        throw Error(ErrorKind::config, std::to_string(without.front()) +
                                           " of the ranks have no room for --offload optimizer in "
                                           "their host's memory, which they say themselves");
}

}  // namespace lockstep::launcher

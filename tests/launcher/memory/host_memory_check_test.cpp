// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/host_memory_check.hpp"

#include <doctest/doctest.h>

#include <string>

#include "launcher/text/already_told.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"
#include "tests/launcher/rank/local_rank.hpp"

using namespace lockstep;
using launcher::HostNeed;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

std::string refusal(const HostNeed& need, std::int64_t free, comm::Communicator& ranks) {
    try {
        launcher::require_host_memory(need, free, ranks,
                                      tests::local_rank(ranks.rank(), ranks.size()));
        return "";
    } catch (const launcher::AlreadyTold& error) {
        return error.kind() == ErrorKind::config ? error.what() : "of another kind";
    }
}

}  // namespace

TEST_CASE("what the ranks of a host offload and copy must fit into its memory together") {
    comm::run_as_threads(2, [](comm::Communicator& ranks) {
        const bool saves = ranks.rank() == 0;
        const HostNeed need{gib, saves ? gib : 0};
        CHECK(refusal(need, 3 * gib, ranks).empty());
        CHECK(refusal(need, 2 * gib, ranks) ==
              (saves ? "--offload optimizer takes 2 GiB of this host's memory (1 GiB pinned and 1 "
                       "GiB for checkpoints), with the other ranks here 3 GiB, and 2 GiB are free: "
                       "end other programs, give several ranks --zero 1, or give --offload none"
                     : "--offload optimizer takes 1 GiB of this host's memory (1 GiB pinned), with "
                       "the other ranks here 3 GiB, and 2 GiB are free: end other programs, give "
                       "several ranks --zero 1, or give --offload none"));
    });
}

TEST_CASE("ranks of a host with room end with the others") {
    comm::run_as_threads(2, [](comm::Communicator& ranks) {
        const bool small = ranks.rank() == 1;
        CHECK(refusal({gib, 0}, small ? gib : 2 * gib, ranks) ==
              (small ? "--offload optimizer takes 1 GiB of this host's memory (1 GiB pinned), with "
                       "the other ranks here 2 GiB, and 1 GiB are free: end other programs, give "
                       "several ranks --zero 1, or give --offload none"
                     : "another host has no room for --offload optimizer"));
    });
    CHECK(launcher::free_host_bytes() > 0);
}

// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/host_memory_check.hpp"

#include <doctest/doctest.h>

#include <string>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

std::string refusal(std::int64_t pinned, std::int64_t free, comm::Communicator& ranks) {
    try {
        launcher::require_room_to_pin(pinned, free, ranks);
        return "";
    } catch (const Error& error) {
        return error.kind() == ErrorKind::config ? error.what() : "of another kind";
    }
}

}  // namespace

TEST_CASE("what is offloaded must fit into the memory of every rank's host") {
    comm::run_as_threads(2, [](comm::Communicator& ranks) {
        CHECK(refusal(gib, gib, ranks).empty());
        const bool small = ranks.rank() == 1;
        CHECK(refusal(2 * gib, small ? gib : 2 * gib, ranks) ==
              (small ? "--offload optimizer pins 2 GiB of the host's memory for each rank, and 1 "
                       "GiB are left for it: end other programs, give several ranks --zero 1, or "
                       "give --offload none"
                     : "1 of the ranks have no room for --offload optimizer in their host's "
                       "memory, which they say themselves"));
    });
    CHECK(launcher::free_host_bytes(1) > 0);
    CHECK(launcher::free_host_bytes(1 << 20) < gib);
}

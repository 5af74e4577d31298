// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/cpu_memory_check.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/memory/weights_memory.hpp"
#include "launcher/text/already_told.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"
#include "tests/launcher/host/fake_root.hpp"
#include "tests/launcher/rank/local_rank.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

struct Outcome {
    std::string refused, warned;
};

Outcome outcome(const MemoryNeed& need, const std::vector<MemoryLimit>& limits,
                comm::Communicator& ranks) {
    Outcome found;
    try {
        require_memory(
            need, limits, ranks, local_rank(ranks.rank(), ranks.size()),
            [](std::int64_t bytes) {
                return "fit into " + std::to_string(bytes / gibibyte) + " GiB";
            },
            [&](const std::string& line) { found.warned = line; });
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        found.refused = error.what();
    }
    return found;
}

Outcome of_one(const MemoryNeed& need, const std::vector<MemoryLimit>& limits) {
    Outcome found;
    comm::run_as_threads(1,
                         [&](comm::Communicator& alone) { found = outcome(need, limits, alone); });
    return found;
}

MemoryLimit host(std::int64_t bytes, std::int64_t free) {
    return {1, bytes, free, "this host has", "use a host with more"};
}

MemoryLimit group(std::uint64_t id, std::int64_t bytes) {
    return {id, bytes, bytes, "the control group /g allows", "raise the group's limit"};
}

}  // namespace

TEST_CASE("a run that takes more than the group's limit is refused, with what would fit") {
    const std::vector<MemoryLimit> limits{host(16 * gibibyte, 8 * gibibyte), group(2, gibibyte)};
    CHECK(of_one({2 * gibibyte, 3 * gibibyte}, limits).refused ==
          "the control group /g allows 1 GiB of memory, and this run takes at least 2 GiB for "
          "weights, gradients, optimizer and activations: fit into 1 GiB, or raise the group's "
          "limit (lockstep plan says what takes it)");
    CHECK(of_one({32 * gibibyte, 32 * gibibyte}, {limits.front()})
              .refused.starts_with("this host has 16 GiB of memory, and this run takes at least"));
    CHECK(of_one({gibibyte, gibibyte}, limits).refused.empty());
    CHECK(of_one({gibibyte, gibibyte}, limits).warned.empty());
}

TEST_CASE("memory that is merely short now is told, and the run goes on") {
    const Outcome found =
        of_one({2 * gibibyte, 10 * gibibyte}, {host(16 * gibibyte, 8 * gibibyte)});
    CHECK(found.refused.empty());
    CHECK(found.warned ==
          "warning: this host has 16 GiB of memory, of which 8 GiB are free, and this run takes up "
          "to 10 GiB: the kernel may kill it (lockstep plan says what takes it)");
}

TEST_CASE("ranks of one group count together, and the lowest tells") {
    comm::run_as_threads(3, [](comm::Communicator& ranks) {
        const auto own = static_cast<std::uint64_t>(ranks.rank() == 0 ? 2 : 3);
        const std::vector<MemoryLimit> limits{host(64 * gibibyte, 64 * gibibyte),
                                              group(own, 3 * gibibyte)};
        CHECK(outcome({gibibyte, gibibyte}, limits, ranks).refused.empty());
        CHECK(outcome({gibibyte, gibibyte}, limits, ranks).warned.empty());
        CHECK(outcome({gibibyte, 2 * gibibyte}, limits, ranks).warned.empty() ==
              (ranks.rank() != 1));
    });
    comm::run_as_threads(3, [](comm::Communicator& ranks) {
        const auto own = static_cast<std::uint64_t>(ranks.rank() == 0 ? 2 : 3);
        const std::vector<MemoryLimit> limits{host(64 * gibibyte, 64 * gibibyte),
                                              group(own, 3 * gibibyte)};
        const std::string why = outcome({2 * gibibyte, 2 * gibibyte}, limits, ranks).refused;
        CHECK(why == (ranks.rank() == 1
                          ? "the control group /g allows 3 GiB of memory, and the 2 ranks that "
                            "share it take at least 4 GiB for weights, gradients, optimizer and "
                            "activations: fit into 1 GiB, or raise the group's limit (lockstep "
                            "plan says what takes it)"
                          : "another rank has no room for this run in its memory"));
    });
}

TEST_CASE("limits of memory: the host's with its swap, and those of the groups") {
    const FakeRoot root;
    root.file("/proc/meminfo",
              "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nSwapTotal: 1048576 kB\n");
    root.file("/proc/self/cgroup", "0::/a/b\n");
    root.file("/sys/fs/cgroup/a/memory.max", "2147483648\n");
    root.file("/sys/fs/cgroup/a/memory.current", "1610612736\n");
    root.file("/sys/fs/cgroup/a/memory.stat", "inactive_file 536870912\n");
    root.file("/sys/fs/cgroup/a/memory.swap.max", "0\n");
    root.file("/sys/fs/cgroup/a/b/memory.high", "1073741824\n");
    const auto limits = memory_limits(root.path);
    REQUIRE(limits.size() == 3);
    CHECK(limits[0].bytes == 9 * gibibyte);
    CHECK(limits[0].free == 4 * gibibyte);
    CHECK(limits[1].owner == "the control group /sys/fs/cgroup/a/b allows");
    CHECK(limits[1].bytes == 9 * gibibyte);  // memory.high alone kills nothing
    CHECK(limits[1].free == gibibyte);
    CHECK(limits[2].bytes == 2 * gibibyte);
    CHECK(limits[2].free == gibibyte);
}

TEST_CASE("weights that no memory holds are refused, and such as have no room now are told") {
    const auto refused = [](const std::vector<MemoryLimit>& limits) {
        try {
            require_room_for_weights(3 * gibibyte, "M", limits);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(refused({}).empty());
    CHECK(refused({host(4 * gibibyte, gibibyte), group(2, 3 * gibibyte)}).empty());
    CHECK(
        refused({host(4 * gibibyte, gibibyte), group(2, 2 * gibibyte)}) ==
        "the control group /g allows 2 GiB of memory, and the weights in M alone take 3 GiB: take "
        "a smaller model, or raise the group's limit");
    CHECK(refused({host(2 * gibibyte, gibibyte)}).starts_with("this host has 2 GiB of memory, "));
}

TEST_CASE("prompts that have no room beside the weights are refused, or told of") {
    const auto told = [](std::int64_t prompts, const MemoryNeed& need) {
        try {
            return require_room_for_prompts(gibibyte, prompts, need,
                                            {host(8 * gibibyte, gibibyte), group(2, 3 * gibibyte)});
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::config);
            return "refused: " + std::string(error.what());
        }
    };
    CHECK(told(100, {gibibyte, 2 * gibibyte}).empty());
    CHECK(told(100, {}).empty());
    CHECK(told(100, {gibibyte, 4 * gibibyte}) ==
          "warning: the control group /g allows 3 GiB of memory, and 100 prompts at once take up "
          "to 5 GiB with the weights: the kernel may kill this program; give --batchsize 49");
    CHECK(told(100, {3 * gibibyte, 4 * gibibyte}) ==
          "refused: the control group /g allows 3 GiB of memory, and 100 prompts at once take at "
          "least 4 GiB with the weights: give --batchsize 49, or raise the group's limit");
    CHECK(told(1, {3 * gibibyte, 4 * gibibyte})
              .ends_with(": give a smaller --beam-size or --max-length, or raise the group's "
                         "limit"));
    CHECK(require_room_for_prompts(gibibyte, 1, {gibibyte, gibibyte}, {}).empty());
    CHECK(require_room_for_prompts(gibibyte, 100, {gibibyte, 4 * gibibyte},
                                   {group(2, 3 * gibibyte)}, "--eval-batchsize")
              .ends_with("give --eval-batchsize 49"));
}

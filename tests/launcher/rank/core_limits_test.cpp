// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/core_limits.hpp"

#include <doctest/doctest.h>

#include "launcher/host/core_binding.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "runtime/comm/environment/slurm_cores.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/launcher/host/fake_root.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

using Kind = CoreLimit::Kind;
using Limits = std::vector<CoreLimit>;

CoreLimit bound(double cores, std::uint64_t id = 1) { return {Kind::binding, cores, id}; }
CoreLimit quota(double cores, std::uint64_t id = 1) { return {Kind::control_group, cores, id}; }

std::vector<int> threads(const std::vector<Limits>& of_ranks) {
    std::vector<int> all;
    for (const ThreadShare& share : thread_shares(of_ranks)) all.push_back(share.threads);
    return all;
}

std::string said(const Limits& limits) { return counted_from(thread_shares({limits}).front()); }

}  // namespace

TEST_CASE("the tightest limit decides, and says so unless it is the binding") {
    CHECK(threads({{bound(16), quota(2)}}) == std::vector{2});
    CHECK(said({bound(16), quota(2)}) == "the control group allows 2 of 16 cores");
    CHECK(said({bound(2), quota(2)}).empty());
    CHECK(said({bound(2), quota(16)}).empty());
    CHECK(said({bound(16), quota(8), {Kind::slurm, 4, 9}}) == "Slurm gives 4 of 16 cores");
    CHECK(threads({{bound(16), quota(1.5)}}) == std::vector{1});
    CHECK(said({bound(16), quota(1.5)}) == "the control group allows 1.5 of 16 cores");
    CHECK(threads({{bound(16), quota(0.25)}}) == std::vector{1});
    CHECK(threads({{bound(16), quota(6, 1), quota(3, 2), quota(12, 3)}}) == std::vector{3});
}

TEST_CASE("ranks in one group share its quota, and those in different groups do not") {
    const Limits same{bound(16), quota(6)};
    CHECK(threads({same, same, same, same}) == std::vector{2, 2, 1, 1});
    CHECK(threads({{bound(16), quota(6, 1)}, {bound(16), quota(6, 2)}}) == std::vector{6, 6});
    // Two groups of 4 cores below one of 6.
    const auto below = [](std::uint64_t id) {
        return Limits{bound(16), quota(4, id), quota(6, 9)};
    };
    CHECK(threads({below(1), below(2)}) == std::vector{3, 3});
    // Cores of their own, and a quota in common.
    CHECK(threads({{bound(4, 1), quota(2)}, {bound(4, 2), quota(2)}}) == std::vector{1, 1});
    CHECK(threads({{bound(3)}, {bound(3)}}) == std::vector{2, 1});
    const auto crowded = thread_shares({{bound(2), quota(1)}, {bound(2), quota(1)}});
    CHECK(counted_from(crowded[0]) == "the control group allows 1 of 2 cores");
}

TEST_CASE("a rank has its share, or the one that multiprocessing_train rounds down") {
    const auto shares = thread_shares({{bound(16), quota(3)}, {bound(16), quota(3)}});
    CHECK(shares[0].threads == 2);
    CHECK(is_counted_from(shares[0], 2));
    CHECK(is_counted_from(shares[0], 1));
    CHECK_FALSE(is_counted_from(shares[0], 3));
}

TEST_CASE("the ranks of a world agree on what they share") {
    comm::run_as_threads(3, [](comm::Communicator& ranks) {
        const auto own = static_cast<std::uint64_t>(ranks.rank() == 2 ? 2 : 1);
        Limits limits{bound(16), quota(5, own)};
        for (std::uint64_t outer = 30; outer < 40; ++outer)
            limits.push_back(quota(static_cast<double>(outer), outer));
        const ThreadShare share = share_of_cores(limits, ranks);
        CHECK(share.threads == (ranks.rank() == 0 ? 3 : ranks.rank() == 1 ? 2 : 5));
        CHECK(counted_from(share) == "the control group allows 5 of 16 cores");
    });
}

TEST_CASE("Slurm's cores: of the task that srun started, or of the job on this host") {
    const auto cores = [](const comm::Environment& environment) {
        const auto found = comm::slurm_cores(environment);
        return found ? std::to_string(found->count) + ", " + found->owner : "";
    };
    CHECK(cores({{"SLURM_CPUS_ON_NODE", "8"}}).empty());
    comm::Environment batch{
        {"SLURM_JOB_ID", "7"}, {"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_CPUS_PER_TASK", "2"}};
    CHECK(cores(batch) == "8, step 7");  // it starts tasks of 2 cores
    comm::Environment task = batch;
    task["SLURM_STEP_ID"] = "0";
    task["SLURM_PROCID"] = "3";
    CHECK(cores(task) == "2, task 3 of 7.0");
    task["OMPI_COMM_WORLD_SIZE"] = "4";
    CHECK(cores(task) == "8, step 7.0");  // mpirun started the task, and this process with others
    CHECK(cores({{"SLURM_JOB_ID", "7"}, {"SLURM_CPUS_ON_NODE", "0"}}).empty());
}

TEST_CASE("Slurm's cores count only where nothing is bound") {
    const FakeRoot root;
    const comm::Environment slurm{{"SLURM_JOB_ID", "7"}, {"SLURM_CPUS_ON_NODE", "1"}};
    const auto last = [&] { return core_limits(slurm, root.path).back().kind; };
    const std::size_t cores = bound_cores().size();
    root.file("/sys/devices/system/cpu/online", "0-" + std::to_string(cores - 1) + "\n");
    CHECK(last() == Kind::slurm);
    root.file("/sys/devices/system/cpu/online", "0-" + std::to_string(cores) + "\n");
    CHECK(last() == Kind::binding);
}

TEST_CASE("a process's quota is one of its limits") {
    const FakeRoot root;
    root.file("/proc/self/cgroup", "0::/a\n");
    root.file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    const Limits limits = core_limits({}, root.path);
    REQUIRE(limits.size() == 2);
    CHECK(limits[0].kind == Kind::binding);
    CHECK(limits[1].kind == Kind::control_group);
    CHECK(limits[1].cores == 1.5);
    CHECK(usable_cores() >= 1);
}

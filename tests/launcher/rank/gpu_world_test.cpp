// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/gpu_world.hpp"

#include <doctest/doctest.h>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

// Each rank sees all GPUs of its host and has one, as under srun --gpus-per-node.
std::vector<GpuUser> eight() {
    std::vector<GpuUser> users;
    for (int rank = 0; rank < 8; ++rank)
        users.push_back({rank < 4 ? "node1" : "node2", "GPU-" + std::to_string(rank),
                         "0000:1" + std::to_string(rank % 4) + ":00.0", "NVIDIA H200"});
    return users;
}

std::string refusal(const std::vector<GpuUser>& users, SharedGpu shared, GpuBackendChoice choice) {
    try {
        (void)judge_gpu_users(users, shared, choice);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "accepted";
}

GpuWorld judged(const std::vector<GpuUser>& users,
                GpuBackendChoice choice = GpuBackendChoice::automatic) {
    return judge_gpu_users(users, SharedGpu::allowed, choice);
}

}  // namespace

TEST_CASE("GPUs of which each rank has its own reduce by NCCL, and nothing is said") {
    for (const auto choice : {GpuBackendChoice::automatic, GpuBackendChoice::nccl}) {
        const GpuWorld world = judge_gpu_users(eight(), SharedGpu::refused, choice);
        CHECK(world.backend == comm::GpuBackend::nccl);
        CHECK(world.notes.empty());
    }
}

TEST_CASE("who shares a GPU is named; equal numbers on other hosts are other GPUs") {
    CHECK(shared_gpus({{"a", "GPU-1"}, {"a", "GPU-2"}, {"b", "GPU-1"}}).empty());
    CHECK(shared_gpus({{"a", "GPU-1"}, {"b", "GPU-9"}, {"a", "GPU-1"}}) ==
          "rank 0 and rank 2 on a share GPU-1");
    CHECK(shared_gpus({{"a", "G"}, {"a", "G"}, {"b", "H"}, {"b", "H"}, {"b", "H"}}) ==
          "rank 0 and rank 1 on a share G; rank 2 and rank 3 and rank 4 on b share H");
}

TEST_CASE("a GPU that ranks share is refused, or theirs with copies through the host") {
    auto users = eight();
    users[3].uuid = users[1].uuid;
    const std::string sharing = "rank 1 and rank 3 on node1 share GPU-1";
    CHECK(
        tests::contains(refusal(users, SharedGpu::refused, GpuBackendChoice::automatic), sharing));
    CHECK(tests::contains(refusal(users, SharedGpu::refused, GpuBackendChoice::automatic),
                          "--allow-shared-gpu"));
    // NCCL_HOSTID or NCCL_MULTI_RANK_GPU_ENABLE may have it take them.
    CHECK(judged(users, GpuBackendChoice::nccl).backend == comm::GpuBackend::nccl);
    const GpuWorld world = judged(users);
    CHECK(world.backend == comm::GpuBackend::staged);
    REQUIRE(world.notes.size() == 1);
    CHECK(tests::contains(world.notes[0], "which is slow: " + sharing));
}

TEST_CASE("parts of one GPU go through the host; a part for one rank alone is like a GPU") {
    auto users = eight();
    for (auto& user : users) user.uuid = "MIG-" + user.uuid.substr(4);
    CHECK(judged(users).backend == comm::GpuBackend::nccl);
    CHECK(parts_of_one_gpu(users).empty());
    users[5].pci = users[4].pci;
    CHECK(parts_of_one_gpu(users) == "rank 4 and rank 5 on node2 have parts of GPU 0000:10:00.0");
    CHECK(judged(users).backend == comm::GpuBackend::staged);
    CHECK(tests::contains(judged(users).notes.at(0), parts_of_one_gpu(users)));
    CHECK(judged(users, GpuBackendChoice::nccl).backend == comm::GpuBackend::nccl);
}

TEST_CASE("one host without NCCL makes all ranks copy through the host, and is named") {
    auto users = eight();
    users[6].without_nccl = "install libnccl2";
    const GpuWorld world = judged(users);
    CHECK(world.backend == comm::GpuBackend::staged);
    REQUIRE(world.notes.size() == 1);
    CHECK(tests::contains(world.notes[0],
                          "which is slow: node2 has no NCCL to be used (install libnccl2)"));
    CHECK(tests::contains(refusal(users, SharedGpu::refused, GpuBackendChoice::nccl),
                          "--gpu-backend nccl: node2 has no NCCL to be used (install libnccl2)"));
}

TEST_CASE("copies through the host are to be had for the asking, and a lone rank needs neither") {
    const GpuWorld asked = judged(eight(), GpuBackendChoice::staged);
    CHECK(asked.backend == comm::GpuBackend::staged);
    REQUIRE(asked.notes.size() == 1);
    CHECK(tests::contains(asked.notes[0], "--gpu-backend staged"));
    GpuUser lone = eight().front();
    lone.without_nccl = "none";
    CHECK(judged({lone}).notes.empty());
}

TEST_CASE("unlike GPUs are told, and work") {
    auto users = eight();
    CHECK(unlike_gpus(users).empty());
    users[7].name = "NVIDIA A100";
    CHECK(unlike_gpus(users) ==
          "NVIDIA H200 (rank 0 on node1 and 6 more), NVIDIA A100 (rank 7 on node2)");
    const GpuWorld world = judged(users);
    CHECK(world.backend == comm::GpuBackend::nccl);
    REQUIRE(world.notes.size() == 1);
    CHECK(tests::contains(world.notes[0], "the slowest decides"));
}

TEST_CASE("GPUs that a control group hides from each other are told") {
    auto users = eight();
    for (auto& user : users) user.chosen = "0";
    CHECK(hosts_with_hidden_gpus(users) == "node1, node2");
    CHECK(tests::contains(judged(users).notes.at(0), "--gpus-per-node"));
    CHECK(judged(users).backend == comm::GpuBackend::nccl);

    for (std::size_t rank = 0; rank < users.size(); ++rank)
        users[rank].chosen = std::to_string(rank % 4);  // by a launcher's CUDA_VISIBLE_DEVICES
    CHECK(hosts_with_hidden_gpus(users).empty());
    CHECK(judged(users).notes.empty());
    CHECK(hosts_with_hidden_gpus({users[0], users[4]}).empty());  // one GPU a host
}

TEST_CASE("every rank hears of every other's GPU, and long texts are cut off") {
    comm::run_as_threads(3, [](comm::Communicator& ranks) {
        GpuUser own = eight()[static_cast<std::size_t>(ranks.rank())];
        own.chosen = "0";
        own.without_nccl = std::string(1000, 'x');
        const auto users = gather_gpu_users(ranks, own);
        REQUIRE(users.size() == 3);
        for (std::size_t rank = 0; rank < 3; ++rank) {
            CHECK(users[rank].host == "node1");
            CHECK(users[rank].uuid == "GPU-" + std::to_string(rank));
            CHECK(users[rank].pci == "0000:1" + std::to_string(rank) + ":00.0");
            CHECK(users[rank].name == "NVIDIA H200");
            CHECK(users[rank].chosen == "0");
            CHECK(users[rank].without_nccl == std::string(255, 'x'));
        }
    });
}

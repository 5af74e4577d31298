// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/gpu_assignment.hpp"

#include <doctest/doctest.h>

#include "runtime/core/error.hpp"
#include "tests/launcher/rank/local_rank.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

std::string refusal(const comm::RankInfo& rank_info, std::size_t visible, SharedGpu shared) {
    try {
        assign_gpu(rank_info, visible, shared);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "taken";
}

}  // namespace

TEST_CASE("a rank takes the GPU of its local rank, or the only one that it sees") {
    const auto index = [](std::size_t visible, int local_rank) {
        return gpu_index(visible, local_rank, comm::RankSource::mpi);
    };
    CHECK(index(4, 0) == 0);
    CHECK(index(4, 3) == 3);
    CHECK(index(1, 3) == 0);  // the launcher chose it
    CHECK_FALSE(index(2, 2).has_value());
    CHECK_FALSE(index(0, 0).has_value());
}

TEST_CASE("Slurm's ranks may see several GPUs each that are their own") {
    comm::RankInfo third = tests::local_rank(2, 4);
    third.source = comm::RankSource::slurm;
    CHECK(assign_gpu(third, 2, SharedGpu::refused) == 0);
    third.local_rank = 3;
    CHECK(assign_gpu(third, 2, SharedGpu::refused) == 1);
    CHECK(assign_gpu(third, 4, SharedGpu::refused) == 3);
}

TEST_CASE("too few GPUs are refused unless they may be shared") {
    CHECK(assign_gpu(tests::local_rank(1, 2), 2, SharedGpu::refused) == 1);
    const std::string few = refusal(tests::local_rank(2, 3), 2, SharedGpu::refused);
    CHECK(few.find("2 GPUs are visible on node1 for 3 ranks") != std::string::npos);
    CHECK(few.find("--allow-shared-gpu") != std::string::npos);
    CHECK(assign_gpu(tests::local_rank(2, 3), 2, SharedGpu::allowed) == 0);
    CHECK(refusal(tests::local_rank(0, 1), 0, SharedGpu::allowed)
              .find("no GPU is visible on node1") != std::string::npos);
}

TEST_CASE("ranks that will all see the same GPUs are refused before they start") {
    CHECK_NOTHROW(require_gpu_for_each(tests::local_rank(1, 2), 2, SharedGpu::refused));
    CHECK_NOTHROW(require_gpu_for_each(tests::local_rank(1, 2), 1, SharedGpu::allowed));
    CHECK_THROWS_WITH_AS(require_gpu_for_each(tests::local_rank(1, 2), 1, SharedGpu::refused),
                         doctest::Contains("1 GPU is visible on node1 for 2 ranks"), Error);
}

// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mesh.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

using HostMesh = Mesh<HostSpace>;

float sum_over(Collectives<HostSpace>& group, int value) {
    std::vector<float> values{static_cast<float>(value)};
    group.finish(group.all_reduce(view_of(values), ReduceOp::sum, "sum"));
    return values.front();
}

}  // namespace

TEST_CASE("ranks count the shards of a replica first, and each of them reads data") {
    const MeshShape shape{2, 3};
    CHECK(shape.ranks() == 6);
    for (int rank = 0; rank < 6; ++rank) {
        const Coordinates here = coordinates(shape, rank);
        CHECK(here.replica == (rank < 3 ? 0 : 1));
        CHECK(here.shard == rank % 3);
        CHECK(here.data == rank);
    }
    CHECK_THROWS_AS(coordinates(shape, 6), Error);
    CHECK_THROWS_WITH_AS(checked(shape, 4), doctest::Contains("2 replicas of 3 ranks are not 4"),
                         Error);
    CHECK_THROWS_AS(checked({-1, -4}, 4), Error);
    CHECK_THROWS_AS(checked({0, 1}, 0), Error);
}

// Rank r adds 2^r, so that a sum tells which ranks took part.
TEST_CASE("the groups of a mesh are its rows and its columns") {
    for (const MeshShape shape : {MeshShape{1, 1}, MeshShape{2, 1}, MeshShape{1, 3},
                                  MeshShape{2, 2}, MeshShape{7, 1}, MeshShape{2, 3}}) {
        CAPTURE(shape.replica);
        CAPTURE(shape.shard);
        run_as_threads(shape.ranks(), [&](Communicator& ranks) {
            const HostMesh mesh(shape, ranks);
            int row = 0, column = 0;
            for (int rank = 0; rank < shape.ranks(); ++rank) {
                const Coordinates there = coordinates(shape, rank);
                if (there.replica == mesh.here.replica) row += 1 << rank;
                if (there.shard == mesh.here.shard) column += 1 << rank;
            }
            const int own = 1 << ranks.rank();
            CHECK(mesh.shard().rank() == mesh.here.shard);
            CHECK(mesh.shard().size() == shape.shard);
            CHECK(mesh.replica().rank() == mesh.here.replica);
            CHECK(mesh.replica().size() == shape.replica);
            CHECK(sum_over(mesh.shard(), own) == row);
            CHECK(sum_over(mesh.replica(), own) == column);
            CHECK(sum_over(mesh.world, own) == (1 << shape.ranks()) - 1);
        });
    }
}

TEST_CASE("a rank that gives the mesh up lets go of those that wait in any group") {
    const auto body = [](Communicator& ranks) {
        HostMesh mesh({2, 2}, ranks);
        std::vector<float> first(4), second(4);
        if (ranks.rank() == 3) {
            mesh.give_up();
            throw std::runtime_error("planned");
        }
        mesh.shard().all_reduce(view_of(first), ReduceOp::sum, "row");
        mesh.replica().all_reduce(view_of(second), ReduceOp::sum, "column");
        try {
            mesh.replica().finish();
            ranks.barrier("end");
            mesh.world.finish();
            FAIL("nobody told this rank");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::peer);
            mesh.give_up();
            throw;
        }
    };
    CHECK_THROWS_WITH_AS(run_as_threads(4, body), "planned", std::runtime_error);
}

TEST_CASE("the world, given up, ends the operation of a group that it would wait for") {
    run_as_threads(2, [](Communicator& ranks) {
        const auto group = ranks.split(0);
        std::vector<float> values(4);
        if (ranks.rank() == 0) group->all_reduce(view_of(values), ReduceOp::sum, "never joined");
        ranks.give_up();
        CHECK_THROWS_AS(ranks.finish(), Error);
    });
}

TEST_CASE("tensor ranks are neighbours that read the same rows, which the first of them counts") {
    const MeshShape shape{.replica = 2, .shard = 3, .tensor = 4, .pipeline = 2};
    CHECK(shape.ranks() == 48);
    CHECK(shape.data_ranks() == 6);
    for (int rank = 0; rank < shape.ranks(); ++rank) {
        const Coordinates here = coordinates(shape, rank);
        CHECK(here.tensor == rank % 4);
        CHECK(here.data == rank / 4 % 6);
        CHECK(here.shard == here.data % 3);
        CHECK(here.replica == here.data / 3);
        CHECK(here.pipeline == rank / 24);
    }
    const DataPlace third = data_place(3, 6, 2), fourth = data_place(4, 6, 2);
    CHECK(third.rank == 1);
    CHECK(third.ranks == 3);
    CHECK(third.counts == RowCounts::of_another);
    CHECK(fourth.rank == 2);
    CHECK(fourth.counts == RowCounts::own);
    CHECK_THROWS_AS(data_place(0, 6, 4), Error);
    const DataPlace of_stage = data_place(7, 12, 2, 2);  // the second stage's
    CHECK(of_stage.rank == 0);
    CHECK(of_stage.ranks == 3);
    CHECK(of_stage.counts == RowCounts::of_another);
    CHECK(data_place(2, 12, 2, 2).counts == RowCounts::own);
    CHECK_THROWS_AS(data_place(0, 6, 2, 2), Error);
}

TEST_CASE("the ranks of a group are named") {
    CHECK(shard_ranks({3, 4}, coordinates({3, 4}, 6)) == "ranks 4-7");
    CHECK(shard_ranks({3, 2}, coordinates({3, 2}, 3)) == "ranks 2, 3");
    CHECK(shard_ranks({3, 1}, coordinates({3, 1}, 2)) == "rank 2");
    CHECK(replica_ranks({2, 4}, coordinates({2, 4}, 5)) == "ranks 1, 5");
    CHECK(replica_ranks({16, 4}, coordinates({16, 4}, 5)) == "ranks 1, 5, 9 ... 61");
    CHECK(replica_ranks({4, 2}, coordinates({4, 2}, 7)) == "ranks 1, 3, 5, 7");
    CHECK(replica_ranks({1, 4}, coordinates({1, 4}, 2)) == "rank 2");
}

TEST_CASE("a rank that waits in a group tells which ranks it waits for") {
    std::atomic<bool> seen = false;
    run_as_threads(4, [&](Communicator& ranks) {
        const HostMesh mesh({2, 2}, ranks);
        std::vector<float> values(4);
        for (auto* group : {&mesh.shard(), &mesh.replica()}) {
            const bool row = group == &mesh.shard();
            seen = false;
            ranks.barrier("begin");
            ranks.finish();
            if (ranks.rank() == 3)
                while (!seen) std::this_thread::yield();
            group->all_reduce(view_of(values), ReduceOp::sum, "bucket 3");
            // Rank 3 comes to the row of rank 2 and to the column of rank 1.
            if (ranks.rank() == (row ? 2 : 1)) {
                std::string told;
                while (told.empty()) told = mesh.activity().operation;
                CHECK(told == std::string("all_reduce \"bucket 3\" among ranks ") +
                                  (row ? "2, 3" : "1, 3"));
                seen = true;
            }
            group->finish();
            CHECK(mesh.activity().operation.empty());
            ranks.barrier("end");
            ranks.finish();
        }
    });
}

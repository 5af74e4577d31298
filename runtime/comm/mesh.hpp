// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// Cuts the ranks into replicas of a model, each of which is held by `shard` ranks together, and
// each of those into `tensor` ranks that compute every layer together. Rank numbers count the
// tensor ranks first, then the shards of a replica, so that neighbours, as a rule those of one
// host, send each other the most. `pipeline` stages, each of which has some of the layers, are the
// outermost.
struct MeshShape {
    int replica = 1;
    int shard = 1;
    int tensor = 1;
    int pipeline = 1;

    // Counts the places that read rows of their own: a shard does, a tensor rank does not.
    int data_ranks() const noexcept { return replica * shard; }
    int ranks() const noexcept { return pipeline * data_ranks() * tensor; }
};

// Tells the place of a rank. `data` is its number among the places that read rows of their own.
struct Coordinates {
    int replica = 0;
    int shard = 0;
    int data = 0;
    int tensor = 0;
    int pipeline = 0;
};
Coordinates coordinates(const MeshShape& shape, int rank);

// Tells whether a rank's rows count as its own: of the ranks that read the same rows the first one
// counts them.
enum class RowCounts { own, of_another };

// Tells which rows a rank reads.
struct DataPlace {
    int rank = 0, ranks = 1;  // among the places that read rows of their own
    RowCounts counts = RowCounts::own;
};
// `tensor` times `pipeline` divides `ranks`.
DataPlace data_place(int rank, int ranks, int tensor, int pipeline = 1);

// Returns the shape. Refuses (kind config) one that has not exactly `ranks` ranks, and one with
// tensor ranks or stages: their groups are made apart (model/devices/model_inl.hpp).
MeshShape checked(const MeshShape& shape, int ranks);

// Name the ranks that hold one replica together, and those that hold the same part of each:
// "ranks 4-7", "ranks 1, 5", "ranks 1, 5, 9 ... 61".
std::string shard_ranks(const MeshShape& shape, const Coordinates& here);
std::string replica_ranks(const MeshShape& shape, const Coordinates& here);

// The groups of one rank. A group of all ranks is the world, and a group of one needs no other
// rank, so users never ask how large a group is.
template <class Space>
class Mesh {
public:
    // The call is collective and waits. `world` must outlive the mesh. Giving up `world` gives up
    // the groups of host memory, too.
    Mesh(const MeshShape& mesh_shape, Collectives<Space>& all)
        : shape(checked(mesh_shape, all.size())),
          here(coordinates(shape, all.rank())),
          world(all),
          own_shard_(group_of(all, shape.shard, here.replica)),
          own_replica_(group_of(all, shape.replica, here.shard)) {}

    const MeshShape shape;
    const Coordinates here;
    Collectives<Space>& world;

    // The ranks that hold one replica together. rank() is here.shard.
    Collectives<Space>& shard() const { return own_shard_ ? *own_shard_ : world; }
    // The ranks that hold the same part of each replica. rank() is here.replica.
    Collectives<Space>& replica() const { return own_replica_ ? *own_replica_ : world; }

    // Aborts everything that waits for other ranks in any group.
    void give_up();
    // Tells of the group that has an operation, with its ranks unless they are all; any thread may
    // call it.
    Activity activity() const;

private:
    // Returns null for a group of all ranks.
    static std::unique_ptr<Collectives<Space>> group_of(Collectives<Space>& all, int size,
                                                        int colour) {
        if (size == all.size()) return nullptr;
        return size == 1 ? all.lone_group() : all.group(colour);
    }

    std::unique_ptr<Collectives<Space>> own_shard_, own_replica_;
};

template <class Space>
void Mesh<Space>::give_up() {
    world.give_up();
    if (own_shard_) own_shard_->give_up();
    if (own_replica_) own_replica_->give_up();
}

template <class Space>
Activity Mesh<Space>::activity() const {
    Activity sum = world.activity();
    const auto add = [&sum](const Collectives<Space>* group, const std::string& ranks) {
        if (group == nullptr) return;
        Activity one = group->activity();
        sum.completed += one.completed;
        sum.waited_for = sum.waited_for || one.waited_for;
        if (sum.operation.empty() && !one.operation.empty())
            sum.operation = std::move(one.operation) + " among " + ranks;
    };
    add(own_shard_.get(), shard_ranks(shape, here));
    add(own_replica_.get(), replica_ranks(shape, here));
    return sum;
}

}  // namespace lockstep::comm

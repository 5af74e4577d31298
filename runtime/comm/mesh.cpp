// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mesh.hpp"

#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

Coordinates coordinates(const MeshShape& shape, int rank) {
    require(rank >= 0 && rank < shape.ranks(), "a rank outside the mesh");
    const int data = rank / shape.tensor % shape.data_ranks();
    return {data / shape.shard, data % shape.shard, data, rank % shape.tensor,
            rank / (shape.tensor * shape.data_ranks())};
}

DataPlace data_place(int rank, int ranks, int tensor, int pipeline) {
    require(tensor > 0 && pipeline > 0 && ranks % (tensor * pipeline) == 0,
            "tensor ranks and stages do not divide the ranks");
    const MeshShape shape{
        .replica = ranks / (tensor * pipeline), .tensor = tensor, .pipeline = pipeline};
    const Coordinates here = coordinates(shape, rank);
    const bool counts = here.tensor == 0 && here.pipeline == 0;
    return {here.data, shape.replica, counts ? RowCounts::own : RowCounts::of_another};
}

std::string shard_ranks(const MeshShape& shape, const Coordinates& here) {
    const int first = here.replica * shape.shard;
    if (shape.shard == 1) return "rank " + std::to_string(first);
    return "ranks " + std::to_string(first) + (shape.shard == 2 ? ", " : "-") +
           std::to_string(first + shape.shard - 1);
}

std::string replica_ranks(const MeshShape& shape, const Coordinates& here) {
    constexpr int listed = 4;
    const auto rank = [&](int replica) {
        return std::to_string(replica * shape.shard + here.shard);
    };
    std::string text = (shape.replica == 1 ? "rank " : "ranks ") + rank(0);
    const bool all = shape.replica <= listed;
    for (int replica = 1; replica < (all ? shape.replica : listed - 1); ++replica)
        text += ", " + rank(replica);
    return all ? text : text + " ... " + rank(shape.replica - 1);
}

MeshShape checked(const MeshShape& shape, int ranks) {
    const bool counts = shape.replica > 0 && shape.shard > 0;
    if (counts && shape.tensor == 1 && shape.pipeline == 1 && shape.ranks() == ranks) return shape;
    throw Error(ErrorKind::config, std::to_string(shape.replica) + " replicas of " +
                                       std::to_string(shape.shard) + " ranks are not " +
                                       std::to_string(ranks) + " ranks");
}

}  // namespace lockstep::comm

// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mesh.hpp"

#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

Coordinates coordinates(const MeshShape& shape, int rank) {
    require(rank >= 0 && rank < shape.ranks(), "a rank outside the mesh");
    return {rank / shape.shard, rank % shape.shard, rank};
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
    if (shape.replica > 0 && shape.shard > 0 && shape.ranks() == ranks) return shape;
    throw Error(ErrorKind::config, std::to_string(shape.replica) + " replicas of " +
                                       std::to_string(shape.shard) + " ranks are not " +
                                       std::to_string(ranks) + " ranks");
}

}  // namespace lockstep::comm

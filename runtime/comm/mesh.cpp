// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mesh.hpp"

#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

Coordinates coordinates(const MeshShape& shape, int rank) {
    require(rank >= 0 && rank < shape.ranks(), "a rank outside the mesh");
    return {rank / shape.shard, rank % shape.shard, rank};
}

MeshShape checked(const MeshShape& shape, int ranks) {
    if (shape.replica > 0 && shape.shard > 0 && shape.ranks() == ranks) return shape;
    throw Error(ErrorKind::config, std::to_string(shape.replica) + " replicas of " +
                                       std::to_string(shape.shard) + " ranks are not " +
                                       std::to_string(ranks) + " ranks");
}

}  // namespace lockstep::comm

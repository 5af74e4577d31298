// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/mesh.hpp"
#include "runtime/comm/tape.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/step/weight_memory.hpp"

namespace lockstep::train {

// What one rank does in a step after the first one: the memory that its engine holds, and what it
// sends and waits for. The engine is the real one, on a device that computes nothing.
struct DryStep {
    WeightMemory memory;
    comm::Tape tape;
    comm::MeshShape mesh;
};

// One rank of a run. The run need not exist.
struct DryRank {
    int rank = 0, ranks = 1;
};

// Of the ranks that add lanes in a fixed order, returns the one that keeps the most gradients, and
// the one that sends the most.
int rank_with_most_kept(std::int64_t lanes, int ranks);
int rank_with_most_sent(std::int64_t lanes, int ranks);

}  // namespace lockstep::train

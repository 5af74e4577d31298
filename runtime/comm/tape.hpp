// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// Tells among which ranks of a mesh an operation runs (mesh.hpp).
enum class TapedGroup { world, shard, replica, tensor, pipeline };

enum class TapedCall { all_reduce, reduce_scatter, all_gather, broadcast, send, wait };

// One call of a rank to its communicators. Calls among one rank alone, messages that arrive,
// barriers and a rank's own work are not written down. Messages of one label that follow each other
// are one entry.
struct TapeEntry {
    TapedCall call = TapedCall::wait;
    TapedGroup group = TapedGroup::world;
    int ranks = 1;           // of the group
    std::int64_t bytes = 0;  // of what is reduced, broadcast or sent, or of all that is gathered
    std::string label = {};  // of the operation, or of the last one that is waited for
};

// What a rank has sent and waited for, in the order of its calls. A dry step writes it
// (taped_communicator.hpp), so that a plan counts what a real step does.
struct Tape {
    std::vector<TapeEntry> entries;
};

// Tells what a reduce-scatter sends. halves: half of what an all-reduce sends. as_whole_ones: it is
// an all-reduce, as where GPUs have no NCCL.
enum class HalfSums { halves, as_whole_ones };

// Returns the bytes that the rank sends in a call if every collective goes around a ring: an
// all-reduce among n ranks sends 2 (n - 1) / n of its bytes, a reduce-scatter or an all-gather half
// of that.
std::int64_t bytes_sent(const TapeEntry& entry, HalfSums half_sums);

}  // namespace lockstep::comm

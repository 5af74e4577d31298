// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/gloo/gloo_links.hpp"
#include "runtime/comm/owner_sums.hpp"

// These collectives are built from messages. Each of them is one operation and uses a slot number
// that is the same on every rank and that no other operation uses.
namespace lockstep::comm {

struct Member {
    int rank;
    int size;
    GlooLinks& links;
};

// The range is cut into one part for each rank. In step s, rank r receives part r - s - 2 (modulo
// size) from its left neighbour and sends it on in step s + 1. The first size - 1 steps add the
// received part to the local one, the later steps replace the local one. The steps [0, size - 1)
// are therefore a reduce_scatter, [size - 1, 2 size - 2) are an all_gather of the parts, and both
// together are an all_reduce.
struct RingSteps {
    int first;
    int end;
};
void ring(const Member& self, std::uint64_t slot, const HostRange& range, RingSteps steps,
          ReduceOp reduction);

// Reduces in log2(size) rounds, each of which sends the whole range: for ranges so small that the
// number of messages counts. In round k a rank exchanges its result with the rank whose number
// differs in bit k, and both take the lower rank's operand first, so that all ranks get the same
// bits. Ranks beyond the last power of two first give their values to a rank before it, and hear
// the result from there.
void reduce_by_doubling(const Member& self, std::uint64_t slot, const HostRange& range,
                        ReduceOp reduction);

// Adds bf16 as owner_sums.hpp says. Every rank must be connected with every other.
void add_by_owners(const Member& self, std::uint64_t slot, const HostRange& range,
                   OwnerResult result);

// Broadcasts from `root` along a binomial tree.
void spread(const Member& self, std::uint64_t slot, const HostRange& range, int root);

// Acts as a barrier: it returns once all ranks have called it. In round k, rank r hears from rank r
// - 2^k and thereby from all ranks that that rank has heard from.
void meet(const Member& self, std::uint64_t slot);

}  // namespace lockstep::comm

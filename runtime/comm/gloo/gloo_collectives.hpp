// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/gloo/gloo_links.hpp"

// Collectives out of messages. Each is one operation, with a slot of its own on every rank.
namespace lockstep::comm {

struct Member {
    int rank;
    int size;
    GlooLinks& links;
};

// The range is cut into one part for each rank. In step s, rank r receives part r - s - 2 (modulo
// size) from its left neighbour and hands it on in step s + 1; the first size - 1 steps add what
// they receive to what is there, the others replace it. So [0, size - 1) is a reduce_scatter,
// [size - 1, 2 size - 2) an all_gather of the parts, and both together an all_reduce.
struct RingSteps {
    int first;
    int end;
};
void ring(const Member& self, std::uint64_t slot, const HostRange& range, RingSteps steps,
          ReduceOp reduction);

// From root by a binomial tree.
void spread(const Member& self, std::uint64_t slot, const HostRange& range, int root);

// Returns once all ranks are here: in round k rank r hears of r - 2^k, and of all it has heard of.
void meet(const Member& self, std::uint64_t slot);

}  // namespace lockstep::comm

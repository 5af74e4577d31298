// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Writes the copy that computes from the master weights, where there are both.
template <class Ctx>
void write_compute_copy(Ctx& context, const ParameterStore<typename Ctx::Space>& store);

// Rank 0's weights become everyone's; the copy that computes is left alone. Collective.
template <class Space>
void broadcast_weights(comm::Collectives<Space>& collectives, const ParameterStore<Space>& store);

// Compares the hash over all ranks; throws on every rank, naming those that differ from the
// majority. Collective.
void require_alike(comm::Communicator& communicator, std::uint64_t hash, std::int64_t updates);

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/optimizer.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Writes the copy that computes from the master weights, where there is one.
void write_compute_copy(device::CpuContext& context, const ParameterStore<HostSpace>& store);

// Rank 0's master weights and optimizer memory become everyone's. Collective.
void broadcast_weights(comm::Communicator& communicator, const ParameterStore<HostSpace>& store);
void broadcast_state(comm::Communicator& communicator, const Optimizer& optimizer);

// Compares a hash of the master weights over all ranks; throws on every rank, naming those that
// differ from the majority. Collective.
void check_weights_alike(comm::Communicator& communicator, const ParameterStore<HostSpace>& store,
                         std::int64_t updates);

}  // namespace lockstep::train

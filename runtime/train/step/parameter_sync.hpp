// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Writes the compute copy from the master weights if the store has both.
template <class Ctx>
void write_compute_copy(Ctx& context, const ParameterStore<typename Ctx::Space>& store);

// Copies rank 0's weights to all ranks; the compute copy is not updated. The call is collective.
template <class Space>
void broadcast_weights(comm::Collectives<Space>& collectives, const ParameterStore<Space>& store);

// Compares the hash over all ranks. Throws on every rank, naming those that differ from the
// majority. The call is collective.
void require_alike(comm::Communicator& communicator, std::uint64_t hash, std::int64_t updates);

template <class Ctx>
void write_compute_copy(Ctx& context, const ParameterStore<typename Ctx::Space>& store) {
    if (!store.has_master()) return;
    with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() {
        if constexpr (!std::is_same_v<T, float>)
            kernels::cast<float, T>(context, store.master(), store.template compute<T>());
    });
}

template <class Space>
void broadcast_weights(comm::Collectives<Space>& collectives, const ParameterStore<Space>& store) {
    collectives.broadcast(store.kept_bytes(), 0, "initial weights");
    collectives.finish();
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Writes the compute copy from the master weights if the store has both. If the master is packed,
// the gradient's memory must hold the weights of all elements, and the owned ones are written to
// the master.
template <class Ctx>
void write_compute_copy(Ctx& context, const ParameterStore<typename Ctx::Space>& store);

// Writes what this rank owns of flat compute weights from a packed master.
template <class Ctx>
void write_owned_weights(Ctx& context, const ParameterStore<typename Ctx::Space>& store);

// Copies rank 0's weights to all ranks; the compute copy is not updated. If the master is packed,
// the weights go from and to the gradient's memory. A master in the host's memory is sent by
// `hosts`, a communicator among the same ranks. The call is collective.
template <class Space>
void broadcast_weights(comm::Collectives<Space>& collectives, comm::Communicator& hosts,
                       const ParameterStore<Space>& store);

// Compares the hash over all ranks. Throws on every rank, naming those that differ from the
// majority. The call is collective.
void require_alike(comm::Communicator& communicator, std::uint64_t hash, std::int64_t updates);

template <class Ctx>
void write_compute_copy(Ctx& context, const ParameterStore<typename Ctx::Space>& store) {
    if (!store.has_master()) return;
    const bool packed = store.has_packed_master();
    const auto whole = packed ? store.gradient() : store.master();
    if (packed)
        for (const OwnedPart& part : store.owned())
            kernels::cast<float, float>(context, whole.subview(part.first, part.count),
                                        store.master(part));
    if (!store.computes_apart()) return;
    with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() {
        kernels::cast<float, T>(context, whole, store.template compute<T>());
    });
}

template <class Ctx>
void write_owned_weights(Ctx& context, const ParameterStore<typename Ctx::Space>& store) {
    if (store.weight_placement().has_slots() || !store.computes_apart()) return;
    with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() {
        for (const OwnedPart& part : store.owned())
            kernels::cast<float, T>(context, store.master(part),
                                    store.template compute<T>(part.first, part.count));
    });
}

template <class Space>
void broadcast_weights(comm::Collectives<Space>& collectives, comm::Communicator& hosts,
                       const ParameterStore<Space>& store) {
    if (store.has_offloaded_master() && !store.has_packed_master()) {
        hosts.broadcast(device::in_host(store.master()), 0, "initial weights");
        return hosts.finish();
    }
    if (store.has_packed_master())
        collectives.broadcast(store.gradient(), 0, "initial weights");
    else
        collectives.broadcast(store.kept_bytes(), 0, "initial weights");
    collectives.finish();
}

}  // namespace lockstep::train

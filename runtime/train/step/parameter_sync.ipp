// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/step/parameter_sync.hpp"

namespace lockstep::train {

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/buffer.hpp"
#include "runtime/device/readback.hpp"
#include "runtime/kernels/hash.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/parameter_sync.hpp"

namespace lockstep::train {

template <class Ctx>
void write_compute_copy(Ctx& context, const ParameterStore<typename Ctx::Space>& store) {
    if (!store.has_master()) return;
    with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() {
        if constexpr (!std::is_same_v<T, float>)
            kernels::cast<float, T>(context, store.master(), store.template compute<T>());
    });
}

// work(bytes) on the weights that the run keeps.
template <class Space, class Work>
void with_kept_weights(const ParameterStore<Space>& store, const Work& work) {
    const auto bytes = [&](auto values) {
        work(View<std::byte, Space>(reinterpret_cast<std::byte*>(values.data()),
                                    values.size() * sizeof(*values.data())));
    };
    if (store.has_master())
        bytes(store.master());
    else if (store.precision() == Precision::bf16)
        bytes(store.template compute<bf16>());
    else
        bytes(store.template compute<fp16>());
}

template <class Space>
void broadcast_weights(comm::Collectives<Space>& collectives, const ParameterStore<Space>& store) {
    with_kept_weights(store, [&](View<std::byte, Space> bytes) {
        collectives.broadcast(bytes, 0, "initial weights");
    });
    collectives.finish();
}

template <class Ctx>
std::uint64_t hash_of_weights(Ctx& context, const ParameterStore<typename Ctx::Space>& store) {
    const device::Buffer<std::uint64_t, typename Ctx::Space> hash(1);
    device::Readback<std::uint64_t, Ctx> readback(context);
    with_kept_weights(store, [&](auto bytes) {
        kernels::hash(context, {bytes.data(), bytes.size()}, hash.view());
    });
    readback.send(hash.view().data());
    return readback.take();
}

}  // namespace lockstep::train

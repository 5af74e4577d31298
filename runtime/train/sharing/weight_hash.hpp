// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/device/buffer.hpp"
#include "runtime/device/readback.hpp"
#include "runtime/kernels/hash.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Hashes the weights that a run keeps, using memory that it allocates once.
template <class Ctx>
class WeightHash {
public:
    explicit WeightHash(Ctx& context) : context_(context), hash_(1), readback_(context) {
        send();  // the first use allocates
        (void)take();
    }

    // Queues a hash of the weights as they are after all queued work.
    void queue(const ParameterStore<typename Ctx::Space>& store) {
        kernels::hash(context_, store.kept_bytes(), hash_.view());
        send();
    }
    // Waits for the hash that was queued first and returns it.
    std::uint64_t take() { return readback_.take(); }

private:
    void send() { readback_.send(hash_.view().data()); }

    Ctx& context_;
    device::Buffer<std::uint64_t, typename Ctx::Space> hash_;  // one element
    device::Readback<std::uint64_t, Ctx> readback_;
};

}  // namespace lockstep::train

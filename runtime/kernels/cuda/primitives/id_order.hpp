// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::kernels::cuda {

// A list to be sorted: ids, or their slots if there are slots. Elements from *real on, and those
// outside of [0, limit), count as `limit`.
struct IdList {
    const std::int32_t* ids;
    const std::int32_t* real;
    std::int64_t count, limit;
    const std::int32_t* slots = nullptr;  // one for each id below slot_count
    std::int64_t slot_count = 0;
};

// The indices of ids, sorted by id, then by index: order[p] is the p-th index, and ids[p] its id.
struct IdOrder {
    std::uint32_t *ids, *order;
};

// Returns how many words of memory are needed to sort this many ids.
std::size_t id_order_words(std::int64_t count);

// Sorts in `words`; the result refers to this memory.
IdOrder order_by_id(device::CudaContext& ctx, const IdList& list, CudaView<std::uint32_t> words);

}  // namespace lockstep::kernels::cuda

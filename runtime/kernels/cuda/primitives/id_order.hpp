// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::kernels::cuda {

// What is sorted: ids, or their slots where there are some. From *real on, and outside of
// [0, limit), they count as `limit`.
struct IdList {
    const std::int32_t* ids;
    const std::int32_t* real;
    std::int64_t count, limit;
    const std::int32_t* slots = nullptr;  // of each id below slot_count
    std::int64_t slot_count = 0;
};

// The indices of ids, sorted by id and, where ids are equal, by index: order[p] is the p-th, and
// ids[p] its id.
struct IdOrder {
    std::uint32_t *ids, *order;
};

// How many words of memory sorting so many ids needs.
std::size_t id_order_words(std::int64_t count);

// Sorts in `words`, which the result refers to.
IdOrder order_by_id(device::CudaContext& ctx, const IdList& list, CudaView<std::uint32_t> words);

}  // namespace lockstep::kernels::cuda

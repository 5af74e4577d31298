// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::kernels::cuda {

// What is sorted. Ids from *real on, and those outside of [0, limit), count as `limit`.
struct IdList {
    const std::int32_t* ids;
    const std::int32_t* real;
    std::int64_t count, limit;
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

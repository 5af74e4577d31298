// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/device/cuda_context.hpp"

namespace lockstep::kernels::cuda {

// The indices of ids, sorted by id and, where ids are equal, by index: order[p] is the p-th, and
// ids[p] its id. Ids outside of [0, limit) count as `limit`.
struct IdOrder {
    std::uint32_t *ids, *order;
};

// How many words of memory sorting so many ids needs.
std::size_t id_order_words(std::int64_t count);

// Sorts in `words`, which the result refers to.
IdOrder order_by_id(device::CudaContext& ctx, const std::int32_t* ids, std::int64_t count,
                    std::int64_t limit, CudaView<std::uint32_t> words);

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// These kernels give each row to one warp, which keeps it in shared memory between its passes, so
// device memory is read once. A lane reads back only its own columns, so no barrier is needed.
namespace lockstep::kernels::cuda {

constexpr int max_row_warps = 8;

// Returns how many warps a block can have if each warp needs bytes_per_warp of shared memory, and
// the block needs bytes_per_block in addition.
inline int row_warps(const device::CudaContext& ctx, std::size_t bytes_per_warp,
                     std::size_t bytes_per_block = 0) {
    const std::size_t most = ctx.properties().max_shared_bytes;
    const std::size_t fitting =
        bytes_per_block < most ? (most - bytes_per_block) / std::max<std::size_t>(bytes_per_warp, 1)
                               : 0;
    require(fitting > 0, "a row is too long for the GPU's shared memory");
    return static_cast<int>(std::min<std::size_t>(fitting, max_row_warps));
}

// Returns the bytes of one kept row, rounded up so that the next row is aligned.
template <class T>
std::size_t row_bytes(std::int64_t cols) {
    return (static_cast<std::size_t>(cols) * sizeof(T) + 15) / 16 * 16;
}

// Calls body(column) for each vector of `width` columns that belongs to this lane.
template <int width, class Body>
__device__ __forceinline__ void for_lane_columns(std::int64_t cols, const Body& body) {
    for (std::int64_t j = threadIdx.x % warp_size * width; j < cols; j += warp_size * width)
        body(j);
}

}  // namespace lockstep::kernels::cuda

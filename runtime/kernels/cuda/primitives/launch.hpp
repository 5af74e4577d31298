// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_set>

#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/kernels/shapes.hpp"

namespace lockstep::kernels::cuda {

// The shape of a launch, and its source location for the message of a failure.
struct Grid {
    Grid(dim3 grid, dim3 block, std::size_t shared = 0,
         SourceLocation place = SourceLocation::current())
        : blocks(grid), threads(block), shared_bytes(shared), where(place) {}

    dim3 blocks, threads;
    std::size_t shared_bytes;
    SourceLocation where;
};

// Returns how many blocks of `each` elements cover `count` elements.
inline unsigned blocks_for(std::int64_t count, std::int64_t each) {
    const std::int64_t blocks = (count + each - 1) / each;
    require(blocks <= std::numeric_limits<std::int32_t>::max(), "a launch of too many blocks");
    return static_cast<unsigned>(blocks);
}

// Returns the same, but at most the number of blocks that the GPU holds at once with `resident`
// blocks on a multiprocessor. It is for kernels whose blocks go on until the work is done.
inline unsigned resident_blocks(const device::CudaContext& ctx, std::int64_t count,
                                std::int64_t each, int resident) {
    const std::int64_t most = std::int64_t{ctx.properties().multiprocessors} * resident;
    return static_cast<unsigned>(std::min((count + each - 1) / each, most));
}

// Remembers which kernels a context has allowed more dynamic shared memory than the default. The
// permission lasts for the process, whose other contexts may use the same kernels, so all contexts
// ask for the same amount.
class AllowedSharedMemory {
public:
    void allow(device::CudaContext& ctx, const void* kernel, std::size_t bytes,
               SourceLocation where) {
        // A kernel has 48 KiB by default. Its static memory and the part that the GPU keeps for
        // itself (1 KiB from compute capability 8.0 on) are included.
        constexpr std::size_t granted = 48 << 10, other_parts = 2 << 10;
        const std::size_t usual = ctx.properties().max_shared_bytes - other_parts;
        if (bytes <= granted - other_parts) return;
        if (bytes <= usual && allowed_.contains(kernel)) return;
        device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(std::max(bytes, usual))),
                      "cudaFuncSetAttribute", where);
        if (bytes <= usual) allowed_.insert(kernel);
    }

private:
    std::unordered_set<const void*> allowed_;
};

// Queues the kernel on the context's stream. A grid without blocks does nothing.
template <class... Parameters, class... Arguments>
void launch(device::CudaContext& ctx, void (*kernel)(Parameters...), const Grid& grid,
            Arguments... arguments) {
    if (grid.blocks.x == 0 || grid.blocks.y == 0 || grid.blocks.z == 0) return;
    if (grid.shared_bytes > 0)
        ctx.cached<AllowedSharedMemory>().allow(ctx, reinterpret_cast<const void*>(kernel),
                                                grid.shared_bytes, grid.where);
    cudaLaunchConfig_t config{};
    config.gridDim = grid.blocks;
    config.blockDim = grid.threads;
    config.dynamicSmemBytes = grid.shared_bytes;
    config.stream = ctx.stream();
    device::check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...),
                  "cudaLaunchKernelEx", grid.where);
}

}  // namespace lockstep::kernels::cuda

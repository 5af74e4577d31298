// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/philox.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"
#include "runtime/kernels/hash.hpp"

// The hash is the sum, modulo 2^64, of each pair of words mixed with its index. Unlike XXH3 the sum
// has no order, so the whole GPU can calculate it, and its value is the same on every GPU.
namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256, resident = 8;

__device__ __forceinline__ std::uint64_t mixed(std::uint32_t low, std::uint32_t high,
                                               std::int64_t pair) {
    return mix(std::uint64_t{high} << 32 | low, static_cast<std::uint64_t>(pair));
}

__global__ void __launch_bounds__(threads)
    hash_kernel(const std::uint32_t* words, std::int64_t count, unsigned long long* result) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    const std::int64_t step = std::int64_t{gridDim.x} * threads;
    unsigned long long sum = 0;
#pragma unroll 4
    for (std::int64_t i = thread; i < count / 4; i += step) {
        const uint4 four = load16(words + i * 4);
        sum += mixed(four.x, four.y, 2 * i) + mixed(four.z, four.w, 2 * i + 1);
    }
    if (thread == 0)
        for (std::int64_t i = count / 4 * 4; i < count; i += 2)
            sum += mixed(words[i], i + 1 < count ? words[i + 1] : 0, i / 2);
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x == 0) atomicAdd(result, sum);
}

}  // namespace

void hash(CudaContext& ctx, CudaView<const std::byte> bytes, CudaView<std::uint64_t> result) {
    require(result.size() == 1, "a hash is one number");
    const auto count = static_cast<std::int64_t>(bytes.size() / sizeof(std::uint32_t));
    const auto* words = reinterpret_cast<const std::uint32_t*>(bytes.data());
    require(bytes.size() % sizeof(std::uint32_t) == 0 &&
                reinterpret_cast<std::uintptr_t>(words) % 16 == 0,
            "a hash is taken of whole words from a multiple of 16 bytes on");
    device::check(cudaMemsetAsync(result.data(), 0, sizeof(std::uint64_t), ctx.stream()),
                  "cudaMemsetAsync");
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    launch(ctx, hash_kernel, {resident_blocks(ctx, count, threads * 4, resident), threads}, words,
           count, reinterpret_cast<unsigned long long*>(result.data()));
}

}  // namespace lockstep::kernels

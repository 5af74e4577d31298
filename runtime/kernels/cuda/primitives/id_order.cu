// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "runtime/kernels/cuda/primitives/id_order.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"

// A radix sort by digits of 8 bits, the lowest first: two passes for most vocabularies. Every pass
// keeps the order of equal digits.
namespace lockstep::kernels::cuda {

namespace {

constexpr int threads = 256, warps = threads / warp_size;
constexpr unsigned digits = 256;
constexpr int warp_items = 256, block_items = warps * warp_items;
constexpr int scan_threads = 1024;

struct DigitCounts {
    std::uint32_t of[warps][digits];
};

__device__ __forceinline__ unsigned digit_of(std::uint32_t id, int shift) {
    return id >> shift & (digits - 1);
}

// ids as words, and the order to begin with.
__global__ void __launch_bounds__(threads) begin_kernel(IdList from, IdOrder to) {
    const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= from.count) return;
    const auto id = static_cast<std::uint32_t>(from.ids[i]);
    const auto limit = static_cast<std::uint32_t>(from.limit);
    to.ids[i] = i < *from.real && id < limit ? id : limit;
    to.order[i] = static_cast<std::uint32_t>(i);
}

// The digits of each warp's items; by atomic additions, whose order does not matter to integers.
__device__ __forceinline__ void count_digits(const std::uint32_t* ids, std::int64_t count,
                                             int shift, DigitCounts& counts) {
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    for (unsigned w = 0; w < warps; ++w) counts.of[w][threadIdx.x] = 0;
    __syncthreads();
    const std::int64_t first = std::int64_t{blockIdx.x} * block_items + warp * warp_items;
    for (int i = 0; i < warp_items; i += warp_size) {
        const std::int64_t at = first + i + lane;
        if (at < count) atomicAdd(&counts.of[warp][digit_of(ids[at], shift)], 1u);
    }
    __syncthreads();
}

// table[digit][block] = how often the digit stands in the block.
__global__ void __launch_bounds__(threads)
    count_kernel(const std::uint32_t* ids, std::int64_t count, int shift, std::uint32_t* table) {
    auto& counts = shared_memory<DigitCounts>();
    count_digits(ids, count, shift, counts);
    std::uint32_t total = 0;
    for (int w = 0; w < warps; ++w) total += counts.of[w][threadIdx.x];
    table[std::int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = total;
}

struct WarpTotals {
    std::uint32_t of[scan_threads / warp_size];
};

// Each entry becomes the sum of those before it; one block.
__global__ void __launch_bounds__(scan_threads) scan_kernel(std::uint32_t* table, int entries) {
    auto& totals = shared_memory<WarpTotals>();
    const int each = (entries + scan_threads - 1) / scan_threads;
    const int first = static_cast<int>(threadIdx.x) * each;
    const int end = first + each < entries ? first + each : entries;
    std::uint32_t sum = 0;
    for (int i = first; i < end; ++i) sum += table[i];
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    std::uint32_t before = sum;  // then the sum of this warp's lanes up to here
    for (unsigned distance = 1; distance < warp_size; distance *= 2) {
        const std::uint32_t other = __shfl_up_sync(whole_warp, before, distance);
        if (lane >= distance) before += other;
    }
    if (lane == warp_size - 1) totals.of[warp] = before;
    __syncthreads();
    before -= sum;
    for (unsigned w = 0; w < warp; ++w) before += totals.of[w];
    for (int i = first; i < end; ++i) {
        const std::uint32_t entry = table[i];
        table[i] = before;
        before += entry;
    }
}

// Where each warp's first item of each digit goes.
__device__ __forceinline__ void place_warps(DigitCounts& counts, const std::uint32_t* table) {
    std::uint32_t place = table[std::int64_t{threadIdx.x} * gridDim.x + blockIdx.x];
    for (int w = 0; w < warps; ++w) {
        const std::uint32_t count = counts.of[w][threadIdx.x];
        counts.of[w][threadIdx.x] = place;
        place += count;
    }
    __syncthreads();
}

__global__ void __launch_bounds__(threads)
    scatter_kernel(IdOrder from, IdOrder to, std::int64_t count, int shift,
                   const std::uint32_t* table) {
    auto& counts = shared_memory<DigitCounts>();
    count_digits(from.ids, count, shift, counts);
    place_warps(counts, table);
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t first = std::int64_t{blockIdx.x} * block_items + warp * warp_items;
    for (int i = 0; i < warp_items; i += warp_size) {
        const std::int64_t at = first + i + lane;
        const unsigned taking = __ballot_sync(whole_warp, at < count);
        if (taking == 0) return;  // alike for the whole warp, and no barrier of the block follows
        const std::uint32_t id = at < count ? from.ids[at] : 0;
        const unsigned digit = digit_of(id, shift);
        const unsigned alike = __match_any_sync(whole_warp, digit) & taking;
        const unsigned earlier = alike & ((1u << lane) - 1);
        const std::uint32_t place = counts.of[warp][digit] + static_cast<unsigned>(__popc(earlier));
        __syncwarp();
        if (at < count) {
            to.ids[place] = id;
            to.order[place] = from.order[at];
            if (earlier == 0) counts.of[warp][digit] += static_cast<std::uint32_t>(__popc(alike));
        }
        __syncwarp();
    }
}

}  // namespace

std::size_t id_order_words(std::int64_t count) {
    const std::int64_t blocks = (count + block_items - 1) / block_items;
    return static_cast<std::size_t>(4 * count + blocks * digits);
}

IdOrder order_by_id(device::CudaContext& ctx, const IdList& list, CudaView<std::uint32_t> words) {
    const auto count = list.count, limit = list.limit;
    require(words.size() >= id_order_words(count) && limit > 0 && limit < 0x7FFFFFFF,
            "sorting ids: too little memory or too many ids");
    IdOrder from{words.data(), words.data() + count};
    IdOrder to{from.order + count, from.order + 2 * count};
    std::uint32_t* table = to.order + count;
    const auto most = static_cast<std::uint32_t>(limit);
    const unsigned blocks = blocks_for(count, block_items);
    launch(ctx, begin_kernel, {blocks_for(count, threads), threads}, list, from);
    for (int shift = 0; shift < static_cast<int>(std::bit_width(most)); shift += 8) {
        launch(ctx, count_kernel, {blocks, threads}, from.ids, count, shift, table);
        launch(ctx, scan_kernel, {1, scan_threads}, table, static_cast<int>(blocks * digits));
        launch(ctx, scatter_kernel, {blocks, threads}, from, to, count, shift, table);
        std::swap(from, to);
    }
    return from;
}

}  // namespace lockstep::kernels::cuda

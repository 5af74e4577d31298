// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "runtime/kernels/cuda/primitives/id_order.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"

// This is a radix sort by digits of 8 bits, the lowest first: two passes for most vocabularies.
// Every pass keeps the order of equal digits. If there are few ids, one block sorts them in one
// launch, because launches would take longer than the work.
namespace lockstep::kernels::cuda {

namespace {

constexpr int threads = 256, warps = threads / warp_size;
constexpr unsigned digits = 256;
constexpr int warp_items = 256, block_items = warps * warp_items;
constexpr int scan_threads = 1024;
constexpr int lone_threads = 1024, lone_warps = lone_threads / warp_size;
constexpr std::int64_t max_lone_items = 8192;

template <int block_warps>
struct DigitCounts {
    std::uint32_t of[block_warps][digits];
};

// The part of the ids that one warp processes.
struct Share {
    std::int64_t first;
    int items;  // a multiple of 32; ids past the last one are ignored
};
__device__ __forceinline__ Share share_of_many() {
    const unsigned warp = threadIdx.x / warp_size;
    return {std::int64_t{blockIdx.x} * block_items + warp * warp_items, warp_items};
}

__device__ __forceinline__ unsigned digit_of(std::uint32_t id, int shift) {
    return id >> shift & (digits - 1);
}

// A negative id becomes a large word.
__device__ __forceinline__ std::uint32_t sorted_id(const IdList& from, std::int64_t i) {
    const auto id = static_cast<std::uint32_t>(from.ids[i]);
    if (from.slots == nullptr) return id;
    return id < from.slot_count ? static_cast<std::uint32_t>(from.slots[id]) : ~0u;
}

// Writes an id as a word and its index: the order before the first pass.
__device__ __forceinline__ void begin_at(std::int64_t i, const IdList& from, const IdOrder& to) {
    if (i >= from.count) return;
    const std::uint32_t id = sorted_id(from, i);
    const auto limit = static_cast<std::uint32_t>(from.limit);
    to.ids[i] = i < *from.real && id < limit ? id : limit;
    to.order[i] = static_cast<std::uint32_t>(i);
}

__global__ void __launch_bounds__(threads) begin_kernel(IdList from, IdOrder to) {
    begin_at(std::int64_t{blockIdx.x} * threads + threadIdx.x, from, to);
}

// Counts the digits of each warp's items. The additions are atomic; their order does not matter for
// integers.
template <int block_warps>
__device__ __forceinline__ void count_digits(const std::uint32_t* ids, std::int64_t count,
                                             int shift, const Share& share,
                                             DigitCounts<block_warps>& counts) {
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    for (unsigned i = threadIdx.x; i < block_warps * digits; i += block_warps * warp_size)
        counts.of[i / digits][i % digits] = 0;
    __syncthreads();
    for (int i = 0; i < share.items; i += warp_size) {
        const std::int64_t at = share.first + i + lane;
        if (at < count) atomicAdd(&counts.of[warp][digit_of(ids[at], shift)], 1u);
    }
    __syncthreads();
}

// Calculates table[digit][block], the number of times that the digit occurs in the block.
__global__ void __launch_bounds__(threads)
    count_kernel(const std::uint32_t* ids, std::int64_t count, int shift, std::uint32_t* table) {
    auto& counts = shared_memory<DigitCounts<warps>>();
    count_digits(ids, count, shift, share_of_many(), counts);
    std::uint32_t total = 0;
    for (int w = 0; w < warps; ++w) total += counts.of[w][threadIdx.x];
    table[std::int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = total;
}

struct WarpTotals {
    std::uint32_t of[scan_threads / warp_size];
};

// Replaces each entry by the sum of those before it; runs as one block.
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

// Calculates where each warp's first item of each digit goes.
template <int block_warps>
__device__ __forceinline__ void place_warps(std::uint32_t place, DigitCounts<block_warps>& counts) {
    for (int w = 0; w < block_warps; ++w) {
        const std::uint32_t count = counts.of[w][threadIdx.x];
        counts.of[w][threadIdx.x] = place;
        place += count;
    }
}

// Moves the warps' items; `counts` tells where the first item of each digit goes.
template <int block_warps>
__device__ __forceinline__ void scatter(const IdOrder& from, const IdOrder& to, std::int64_t count,
                                        int shift, const Share& share,
                                        DigitCounts<block_warps>& counts) {
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    for (int i = 0; i < share.items; i += warp_size) {
        const std::int64_t at = share.first + i + lane;
        const unsigned taking = __ballot_sync(whole_warp, at < count);
        if (taking == 0) return;  // equal for the whole warp, and no barrier of the block follows
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

__global__ void __launch_bounds__(threads)
    scatter_kernel(IdOrder from, IdOrder to, std::int64_t count, int shift,
                   const std::uint32_t* table) {
    auto& counts = shared_memory<DigitCounts<warps>>();
    count_digits(from.ids, count, shift, share_of_many(), counts);
    place_warps(table[std::int64_t{threadIdx.x} * gridDim.x + blockIdx.x], counts);
    __syncthreads();
    scatter(from, to, count, shift, share_of_many(), counts);
}

struct LoneMemory {
    DigitCounts<lone_warps> counts;
    std::uint32_t totals[digits / warp_size];
};

// Calculates where the block's items of each digit go: after those of lower digits and of earlier
// warps.
__device__ __forceinline__ void place_digits(LoneMemory& memory) {
    const unsigned digit = threadIdx.x, lane = threadIdx.x % warp_size;
    std::uint32_t own = 0, before = 0;
    if (digit < digits) {  // equal for a whole warp
        for (int w = 0; w < lone_warps; ++w) own += memory.counts.of[w][digit];
        before = own;
        for (unsigned distance = 1; distance < warp_size; distance *= 2) {
            const std::uint32_t other = __shfl_up_sync(whole_warp, before, distance);
            if (lane >= distance) before += other;
        }
        if (lane == warp_size - 1) memory.totals[digit / warp_size] = before;
    }
    __syncthreads();
    if (digit < digits) {
        before -= own;
        for (unsigned w = 0; w < digit / warp_size; ++w) before += memory.totals[w];
        place_warps(before, memory.counts);
    }
    __syncthreads();
}

__global__ void __launch_bounds__(lone_threads)
    sort_kernel(IdList list, IdOrder from, IdOrder to, int bits) {
    auto& memory = shared_memory<LoneMemory>();
    for (std::int64_t i = threadIdx.x; i < list.count; i += lone_threads) begin_at(i, list, from);
    const auto items = static_cast<int>((list.count + lone_threads - 1) / lone_threads) * warp_size;
    const Share share{std::int64_t{threadIdx.x / warp_size} * items, items};
    for (int shift = 0; shift < bits; shift += 8) {
        __syncthreads();  // the ids are written, and no thread still reads the counts
        count_digits(from.ids, list.count, shift, share, memory.counts);
        place_digits(memory);
        scatter(from, to, list.count, shift, share, memory.counts);
        const IdOrder sorted = to;
        to = from;
        from = sorted;
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
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(limit)));
    if (count <= max_lone_items) {
        launch(ctx, sort_kernel, {1, lone_threads}, list, from, to, bits);
        return (bits + 7) / 8 % 2 == 0 ? from : to;
    }
    const unsigned blocks = blocks_for(count, block_items);
    launch(ctx, begin_kernel, {blocks_for(count, threads), threads}, list, from);
    for (int shift = 0; shift < bits; shift += 8) {
        launch(ctx, count_kernel, {blocks, threads}, from.ids, count, shift, table);
        launch(ctx, scan_kernel, {1, scan_threads}, table, static_cast<int>(blocks * digits));
        launch(ctx, scatter_kernel, {blocks, threads}, from, to, count, shift, table);
        std::swap(from, to);
    }
    return from;
}

}  // namespace lockstep::kernels::cuda

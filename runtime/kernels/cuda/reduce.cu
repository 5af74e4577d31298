// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/flat_kernels.hpp"
#include "runtime/kernels/cuda/primitives/sums.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// Tests the bits of the exponent: infinities and NaN have all of them set.
struct Nonfinite {
    using Value = long long;
    __device__ __forceinline__ long long operator()(float x) const {
        return (__float_as_uint(x) & 0x7F800000u) == 0x7F800000u ? 1 : 0;
    }
};

constexpr int square_threads = 256, cells_of_block = 64;

// Adds an addend to words to which other threads add, too. Integers have no order.
__device__ __forceinline__ void add_shared(unsigned long long* words, double addend) {
    ExactSum::add_to(addend, [words](std::size_t index, std::uint64_t value) {
        if (value != 0) atomicAdd(words + index, value);
    });
}

// Returns a lane's part of the sum over a cell that has `left` elements. Element i is always lane
// i / 4 % 32's, however it is read.
template <int width>
__device__ __forceinline__ double lane_squares(const float* cell, std::int64_t left, int lane) {
    double sum = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int first = half * 128 + lane * 4;
#pragma unroll
        for (int i = 0; i < 4; i += width) {
            float values[width];
            if (first + i + width > left) break;
            load(cell + first + i, values);
#pragma unroll
            for (int j = 0; j < width; ++j) sum += double{values[j]} * double{values[j]};
        }
    }
    return sum;
}

struct SquareWords {
    unsigned long long word[ExactSum::words];
};

// A warp sums a cell. `size` is a multiple of `width`.
template <int width>
__global__ void __launch_bounds__(square_threads)
    squares_kernel(const float* x, std::int64_t size, unsigned long long* total) {
    auto& sum = shared_memory<SquareWords>();
    constexpr int warps = square_threads / warp_size;
    constexpr auto cell = static_cast<std::int64_t>(square_cell);
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    if (threadIdx.x < ExactSum::words) sum.word[threadIdx.x] = 0;
    __syncthreads();
    for (int i = warp; i < cells_of_block; i += warps) {
        const std::int64_t first = (std::int64_t{blockIdx.x} * cells_of_block + i) * cell;
        if (first >= size) break;
        const double squares = warp_reduce<Sum>(lane_squares<width>(x + first, size - first, lane));
        if (lane == 0) add_shared(sum.word, squares);
    }
    __syncthreads();
    if (threadIdx.x < ExactSum::words && sum.word[threadIdx.x] != 0)
        atomicAdd(total + threadIdx.x, sum.word[threadIdx.x]);
}

template <class From, class To>
struct Cast {
    struct Always {
        bool skip = false;
    };
    static constexpr int vectors = 4, resident = 8;
    template <int width>
    struct Read {
        float values[width];
    };

    const From* from;
    To* to;

    __device__ Always prepare() const { return {}; }
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, Always) const {
        Read<width> r;
        load(from + i, r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, const Read<width>& r, Always) const {
        store(to + i, r.values);
    }
};

}  // namespace

void add_sum_of_squares(CudaContext& ctx, CudaView<const float> x, CudaView<ExactSum> total) {
    require(total.size() == 1, "a sum goes into one element");
    static_assert(sizeof(ExactSum) == ExactSum::words * sizeof(unsigned long long));
    const auto size = static_cast<std::int64_t>(x.size());
    constexpr int width = vector_width<float>;
    launch(
        ctx, by_vectors(x.data(), size, width) ? squares_kernel<width> : squares_kernel<1>,
        {blocks_for(size, cells_of_block * static_cast<std::int64_t>(square_cell)), square_threads},
        x.data(), size, reinterpret_cast<unsigned long long*>(total.data()));
}

void add_count_nonfinite(CudaContext& ctx, CudaView<const float> x, CudaView<std::int64_t> total) {
    require(total.size() == 1, "a sum goes into one element");
    static_assert(sizeof(Nonfinite::Value) == sizeof(std::int64_t));
    sum_to<Nonfinite>(ctx, x, reinterpret_cast<Nonfinite::Value*>(total.data()));
}

void reserve_sums(CudaContext& ctx, std::size_t elements) {
    sum_parts<double>(ctx, elements);
    ctx.cached<FinishedBlocks>();
}

void fill_zero(CudaContext& ctx, CudaView<float> x) {
    if (x.empty()) return;
    device::check(cudaMemsetAsync(x.data(), 0, x.size() * sizeof(float), ctx.stream()),
                  "cudaMemsetAsync");
}

template <class From, class To>
void cast(CudaContext& ctx, CudaView<const From> from, CudaView<To> to) {
    require(from.size() == to.size(), "cast: sizes differ");
    for_each_element(ctx, Cast<From, To>{from.data(), to.data()}, from.size(), from.data(),
                     to.data());
}

template void cast(CudaContext&, CudaView<const float>, CudaView<float>);
template void cast(CudaContext&, CudaView<const float>, CudaView<bf16>);
template void cast(CudaContext&, CudaView<const float>, CudaView<fp16>);
template void cast(CudaContext&, CudaView<const bf16>, CudaView<float>);
template void cast(CudaContext&, CudaView<const fp16>, CudaView<float>);

}  // namespace lockstep::kernels

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/reduction.hpp"
#include "runtime/kernels/cuda/vector.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256;
// Borders of the partial sums depend on the size alone, so the sum is the same on every GPU.
constexpr std::int64_t block_elements = 16384;

struct Square {
    using Value = double;
    __device__ __forceinline__ double operator()(float x) const { return double{x} * double{x}; }
};

// By the exponent's bits: infinities and NaN have all of them set.
struct Nonfinite {
    using Value = long long;
    __device__ __forceinline__ long long operator()(float x) const {
        return (__float_as_uint(x) & 0x7F800000u) == 0x7F800000u ? 1 : 0;
    }
};

template <int width, class Function>
__global__ void __launch_bounds__(threads)
    partial_sums(const float* x, std::int64_t size, typename Function::Value* parts) {
    using Value = typename Function::Value;
    const std::int64_t first = blockIdx.x * block_elements;
    const std::int64_t end = size < first + block_elements ? size : first + block_elements;
    Value sum = 0;
    for (std::int64_t i = first + threadIdx.x * width; i < end; i += threads * width) {
        float values[width];
        load(x + i, values);
#pragma unroll
        for (int j = 0; j < width; ++j) sum += Function{}(values[j]);
    }
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

template <class Value>
__global__ void __launch_bounds__(threads)
    add_parts(const Value* parts, std::int64_t count, Value* total) {
    Value sum = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += threads) sum += parts[i];
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x == 0) *total += sum;
}

template <class Function, class Result>
void add_sum(CudaContext& ctx, CudaView<const float> x, CudaView<Result> total) {
    using Value = typename Function::Value;
    static_assert(sizeof(Value) == sizeof(Result));
    require(total.size() == 1, "a sum goes into one element");
    const auto size = static_cast<std::int64_t>(x.size());
    const unsigned blocks = blocks_for(size, block_elements);
    const auto parts = ctx.scratch<Value>(blocks);
    constexpr int width = vector_width<float>;
    launch(ctx,
           by_vectors(x.data(), size, size) ? partial_sums<width, Function>
                                            : partial_sums<1, Function>,
           {blocks, threads}, x.data(), size, parts.data());
    launch(ctx, add_parts<Value>, {1, threads}, parts.data(), std::int64_t{blocks},
           reinterpret_cast<Value*>(total.data()));
}

template <int width, class From, class To>
__global__ void __launch_bounds__(threads)
    cast_kernel(const From* from, To* to, std::int64_t size) {
    const std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) * width;
    if (i >= size) return;
    float values[width];
    load(from + i, values);
    store(to + i, values);
}

}  // namespace

void add_sum_of_squares(CudaContext& ctx, CudaView<const float> x, CudaView<double> total) {
    add_sum<Square>(ctx, x, total);
}

void add_count_nonfinite(CudaContext& ctx, CudaView<const float> x, CudaView<std::int64_t> total) {
    add_sum<Nonfinite>(ctx, x, total);
}

void fill_zero(CudaContext& ctx, CudaView<float> x) {
    if (x.empty()) return;
    device::check(cudaMemsetAsync(x.data(), 0, x.size() * sizeof(float), ctx.stream()),
                  "cudaMemsetAsync");
}

template <class From, class To>
void cast(CudaContext& ctx, CudaView<const From> from, CudaView<To> to) {
    require(from.size() == to.size(), "cast: sizes differ");
    // As many values as fill the wider type's two accesses, or the narrower's one.
    constexpr int width = std::max(vector_width<From>, vector_width<To>);
    const auto size = static_cast<std::int64_t>(from.size());
    const bool vectors = size % width == 0 && by_vectors(from.data(), size, size) &&
                         by_vectors(to.data(), size, size);
    launch(ctx, vectors ? cast_kernel<width, From, To> : cast_kernel<1, From, To>,
           {blocks_for(size, std::int64_t{threads} * (vectors ? width : 1)), threads}, from.data(),
           to.data(), size);
}

template void cast(CudaContext&, CudaView<const float>, CudaView<float>);
template void cast(CudaContext&, CudaView<const float>, CudaView<bf16>);
template void cast(CudaContext&, CudaView<const float>, CudaView<fp16>);
template void cast(CudaContext&, CudaView<const bf16>, CudaView<float>);
template void cast(CudaContext&, CudaView<const fp16>, CudaView<float>);

}  // namespace lockstep::kernels

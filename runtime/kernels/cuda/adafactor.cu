// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/adafactor_bodies.hpp"
#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/cuda/primitives/sums.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;
using namespace cuda::adafactor_bodies;

struct TotalsMemory {
    device::Buffer<Totals, CudaSpace> buffer{1};
};

struct Identity {
    using Value = double;
    __device__ __forceinline__ double operator()(float x) const { return double{x}; }
};

// Updates the running average of each row's mean: average = beta2 average + (1 - beta2) mean. A
// warp processes one row.
template <int width>
__global__ void __launch_bounds__(256)
    average_rows_kernel(CudaMatrix<const float> x, GradientSquare term, AdafactorOptions options,
                        float* average) {
    auto& beta2 = shared_memory<float>();
    if (threadIdx.x == 0) beta2 = beta2_of(*term.state, options);
    __syncthreads();
    const std::int64_t row = std::int64_t{blockIdx.x} * (256 / warp_size) + threadIdx.x / warp_size;
    if (row >= x.rows || term.state->skip != 0) return;
    float sum = 0;
#pragma unroll 4
    for (std::int64_t j = threadIdx.x % warp_size * width; j < x.cols; j += warp_size * width) {
        float values[width];
        load(x.data + row * x.stride + j, values);
#pragma unroll
        for (int k = 0; k < width; ++k) sum += term(values[k]);
    }
    sum = warp_reduce<Sum>(sum);
    if (threadIdx.x % warp_size == 0)
        average[row] = beta2 * average[row] + (1.0f - beta2) * sum / static_cast<float>(x.cols);
}

// A block processes a whole small parameter, such as a bias or a norm: most parameters are small,
// and several launches would take most of their time.
constexpr int small_threads = 1024;
constexpr std::size_t small_elements = 8192;

template <class T>
__global__ void __launch_bounds__(small_threads)
    small_kernel(FullUpdate update, Apply<T> apply, Totals* totals, int size) {
    auto& full = shared_memory<FullUpdate::Update>();
    auto& last = shared_memory<typename Apply<T>::Update>();
    if (threadIdx.x == 0) full = update.prepare();
    __syncthreads();
    if (full.skip) return;
    double weight_squares = 0, update_squares = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < size; i += small_threads) {
        auto r = update.template read<1>(i, full);
        update.template write<1>(i, r, full);
        float w[1];
        apply.weights.read(i, w);
        weight_squares += Square{}(w[0]);
        update_squares += Square{}(update.update[i]);
    }
    weight_squares = block_reduce<Sum>(weight_squares);
    update_squares = block_reduce<Sum>(update_squares);
    if (threadIdx.x == 0) {
        *totals = {0, weight_squares, update_squares};
        last = apply.prepare();
    }
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < size; i += small_threads) {
        auto r = apply.template read<1>(i, last);
        apply.template write<1>(i, r, last);
    }
}

// Keeps the sums of the columns in `scratch`, which the update overwrites later.
template <class T>
void average_squares(CudaContext& ctx, const Adafactor<T, CudaSpace>& o) {
    const GradientSquare term{o.state, o.options.epsilon1};
    const auto columns = o.scratch.subview(0, o.column.size());
    column_sums(ctx, TermOf<GradientSquare, float>{term, o.gradient}, columns, Into::overwrite,
                o.gradient);
    launch(ctx, by_vectors(o.gradient) ? average_rows_kernel<4> : average_rows_kernel<1>,
           {blocks_for(o.gradient.rows, 256 / warp_size), 256}, o.gradient, term, o.options,
           o.row.data());
    const Average of_columns{o.state, o.options, columns.data(), o.column.data(),
                             static_cast<float>(o.gradient.rows)};
    for_each_element(ctx, of_columns, o.column.size(), columns.data(), o.column.data());
}

}  // namespace

void reserve_adafactor(CudaContext& ctx) { ctx.cached<TotalsMemory>(); }

template <class T>
void adafactor(CudaContext& ctx, const Adafactor<T, CudaSpace>& o) {
    if (o.gradient.empty()) return;
    check(o);
    const auto n = static_cast<std::size_t>(o.gradient.rows * o.gradient.cols);
    const CudaView<float> weights(o.master.data, o.master.data == nullptr ? 0 : n);
    Totals* totals = ctx.cached<TotalsMemory>().buffer.view().data();
    const FullUpdate unfactored{o.state, o.options, o.gradient.data, o.full.data(),
                                o.scratch.data()};
    const Apply<T> apply{o.state,
                         o.options,
                         totals,
                         static_cast<double>(n),
                         o.scratch.data(),
                         weights_of(weights, o.compute),
                         o.first_moment.data()};
    if (!factorises(o) && n <= small_elements)
        return launch(ctx, small_kernel<T>, {1, small_threads}, unfactored, apply, totals,
                      static_cast<int>(n));
    if (o.options.scale == AdafactorOptions::Scale::parameter) {
        if (weights.empty())
            sum_to<Square>(ctx, CudaView<const T>(o.compute), &totals->weight_squares,
                           Into::overwrite);
        else
            sum_to<Square>(ctx, CudaView<const float>(weights), &totals->weight_squares,
                           Into::overwrite);
    }
    if (factorises(o)) {
        average_squares(ctx, o);
        sum_to<Identity>(ctx, CudaView<const float>(o.row), &totals->rows, Into::overwrite);
        const FactoredUpdate update{o.state,      totals,          o.gradient,
                                    o.row.data(), o.column.data(), o.scratch.data()};
        for_each_element(ctx, update, n, o.gradient.data, o.scratch.data());
    } else {
        for_each_element(ctx, unfactored, n, o.gradient.data, o.full.data(), o.scratch.data());
    }
    sum_to<Square>(ctx, CudaView<const float>(o.scratch.subview(0, n)), &totals->update_squares,
                   Into::overwrite);
    for_each_element(ctx, apply, n, o.scratch.data(), weights.data(), o.compute.data(),
                     o.first_moment.data());
}

template void adafactor(CudaContext&, const Adafactor<float, CudaSpace>&);
template void adafactor(CudaContext&, const Adafactor<bf16, CudaSpace>&);
template void adafactor(CudaContext&, const Adafactor<fp16, CudaSpace>&);

}  // namespace lockstep::kernels

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/column_sums.hpp"
#include "runtime/kernels/cuda/index.hpp"
#include "runtime/kernels/cuda/sums.hpp"
#include "runtime/kernels/cuda/weights.hpp"
#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// What one kernel sums and a later one reads.
struct Totals {
    double rows, weight_squares, update_squares;
};
struct TotalsMemory {
    device::Buffer<Totals, CudaSpace> buffer{1};
};

__device__ __forceinline__ float beta2_of(const StepState& state, const AdafactorOptions& options) {
    return static_cast<float>(
        1.0 - pow(static_cast<double>(state.updates + 1), double{options.decay_rate}));
}

struct Identity {
    using Value = double;
    __device__ __forceinline__ double operator()(float x) const { return double{x}; }
};

// g^2 + epsilon
struct GradientSquare {
    const StepState* state;
    float epsilon;
    __device__ __forceinline__ float operator()(float gradient) const {
        const float g = gradient * state->gradient_scale;
        return g * g + epsilon;
    }
};

// A warp has a row.
template <int width>
__global__ void __launch_bounds__(256)
    row_sums_kernel(CudaMatrix<const float> x, GradientSquare term, float* sums) {
    const std::int64_t row = std::int64_t{blockIdx.x} * (256 / warp_size) + threadIdx.x / warp_size;
    if (row >= x.rows) return;
    float sum = 0;
#pragma unroll 4
    for (std::int64_t j = threadIdx.x % warp_size * width; j < x.cols; j += warp_size * width) {
        float values[width];
        load(x.data + row * x.stride + j, values);
#pragma unroll
        for (int k = 0; k < width; ++k) sum += term(values[k]);
    }
    sum = warp_reduce<Sum>(sum);
    if (threadIdx.x % warp_size == 0) sums[row] = sum;
}

// average = beta2 average + (1 - beta2) sum / count
struct Average {
    struct Update {
        float beta2;
        bool skip;
    };

    const StepState* state;
    AdafactorOptions options;
    const float* sums;
    float* average;
    float count;

    static constexpr int vectors = 1, resident = 8;
    template <int width>
    struct Read {
        float sum[width], before[width];
    };

    __device__ Update prepare() const { return {beta2_of(*state, options), state->skip != 0}; }
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update&) const {
        Read<width> r;
        load(sums + i, r.sum);
        load(average + i, r.before);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& [sum, before] = r;
#pragma unroll
        for (int k = 0; k < width; ++k)
            before[k] = u.beta2 * before[k] + (1.0f - u.beta2) * sum[k] / count;
        store(average + i, before);
    }
};

// update = g / sqrt(row column / mean(row))
struct FactoredUpdate {
    struct Update {
        float gradient_scale, row_scale;  // row_scale = 1 / mean(row)
        bool skip;
    };
    static constexpr int vectors = 2, resident = 8;
    template <int width>
    struct Read {
        float values[width];
    };

    const StepState* state;
    const Totals* totals;
    CudaMatrix<const float> gradient;
    const float *row, *column;
    float* update;

    __device__ Update prepare() const {
        return {state->gradient_scale,
                static_cast<float>(static_cast<double>(gradient.rows) / totals->rows),
                state->skip != 0};
    }
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update&) const {
        Read<width> r;
        load(gradient.data + i, r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& values = r.values;
        Cell at = vector_cell(i, gradient.cols, 1);
        float factor = u.gradient_scale * rsqrtf(row[at.row] * u.row_scale);
#pragma unroll
        for (int k = 0; k < width; ++k) {
            values[k] *= factor * rsqrtf(column[at.col]);
            if (k + 1 == width || ++at.col < gradient.cols) continue;
            at = {at.row + 1, 0};
            factor = u.gradient_scale * rsqrtf(row[at.row] * u.row_scale);
        }
        store(update + i, values);
    }
};

// moment = beta2 moment + (1 - beta2) (g^2 + epsilon); update = g / sqrt(moment)
struct FullUpdate {
    struct Update {
        float gradient_scale, beta2;
        bool skip;
    };

    const StepState* state;
    AdafactorOptions options;
    const float* gradient;
    float *moment, *update;

    __device__ Update prepare() const {
        return {state->gradient_scale, beta2_of(*state, options), state->skip != 0};
    }
    static constexpr int vectors = 1, resident = 8;
    template <int width>
    struct Read {
        float g[width], m[width];
    };
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update&) const {
        Read<width> r;
        load(gradient + i, r.g);
        load(moment + i, r.m);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& [g, m] = r;
#pragma unroll
        for (int k = 0; k < width; ++k) {
            g[k] *= u.gradient_scale;
            m[k] = u.beta2 * m[k] + (1.0f - u.beta2) * (g[k] * g[k] + options.epsilon1);
            g[k] /= sqrtf(m[k]);
        }
        store(moment + i, m);
        store(update + i, g);
    }
};

template <class T>
struct Apply {
    struct Update {
        float step, shrink;
        bool skip;
    };

    const StepState* state;
    AdafactorOptions options;
    const Totals* totals;
    double count;
    const float* update;
    Weights<T> weights;
    float* first_moment;  // may be null

    // In double, as fairseq computes them.
    __device__ Update prepare() const {
        const auto t = static_cast<double>(state->updates + 1);
        double lr = options.step == AdafactorOptions::Step::relative ? fmin(1e-2, 1.0 / sqrt(t))
                                                                     : double{state->lr};
        if (options.scale == AdafactorOptions::Scale::parameter)
            lr *= fmax(double{options.epsilon2}, sqrt(totals->weight_squares / count));
        const double rms = sqrt(totals->update_squares / count);
        const double divisor = fmax(1.0, rms / double{options.clip_threshold});
        return {static_cast<float>(lr / divisor),
                static_cast<float>(1.0 - double{options.weight_decay} * lr), state->skip != 0};
    }
    static constexpr int vectors = 1, resident = 8;
    template <int width>
    struct Read {
        float values[width], w[width], m[width];
    };
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, const Update&) const {
        Read<width> r;
        load(update + i, r.values);
        weights.read(i, r.w);
        if (first_moment != nullptr) load(first_moment + i, r.m);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, Read<width>& r, const Update& u) const {
        auto& [values, w, m] = r;
#pragma unroll
        for (int k = 0; k < width; ++k) {
            const float step = u.step * values[k];
            m[k] = first_moment == nullptr ? step
                                           : options.beta1 * m[k] + (1.0f - options.beta1) * step;
            w[k] = w[k] * u.shrink - m[k];
        }
        if (first_moment != nullptr) store(first_moment + i, m);
        weights.write(i, w);
    }
};

// The sums begin in `scratch`, which the update then takes.
void average_squares(CudaContext& ctx, const AdafactorOptions& options, const StepState* state,
                     CudaMatrix<const float> gradient, CudaView<float> row, CudaView<float> column,
                     CudaView<float> scratch) {
    const GradientSquare term{state, options.epsilon1};
    const auto columns = scratch.subview(0, column.size());
    const auto rows = scratch.subview(column.size(), row.size());
    column_sums(ctx, TermOf<GradientSquare, float>{term, gradient}, columns, Into::overwrite,
                gradient);
    launch(ctx, by_vectors(gradient) ? row_sums_kernel<4> : row_sums_kernel<1>,
           {blocks_for(gradient.rows, 256 / warp_size), 256}, gradient, term, rows.data());
    const Average of_columns{state, options, columns.data(), column.data(),
                             static_cast<float>(gradient.rows)};
    for_each_element(ctx, of_columns, column.size(), columns.data(), column.data());
    const Average of_rows{state, options, rows.data(), row.data(),
                          static_cast<float>(gradient.cols)};
    for_each_element(ctx, of_rows, row.size(), rows.data(), row.data());
}

}  // namespace

template <class T>
void adafactor(CudaContext& ctx, const AdafactorOptions& options, const StepState* state,
               CudaMatrix<const float> gradient, CudaMatrix<float> master, CudaView<float> row,
               CudaView<float> column, CudaView<float> full, CudaView<float> first_moment,
               CudaView<float> scratch, CudaView<T> compute) {
    const auto n = static_cast<std::size_t>(gradient.rows * gradient.cols);
    if (n == 0) return;
    const bool factorises = gradient.rows > 1 && gradient.cols > 1 && full.empty();
    require((master.data == nullptr ||
             (same_shape(master, gradient) && master.stride == master.cols)) &&
                gradient.stride == gradient.cols && scratch.size() >= n &&
                (first_moment.empty() || first_moment.size() == n),
            "adafactor: sizes differ");
    require(factorises ? row.size() == static_cast<std::size_t>(gradient.rows) &&
                             column.size() == static_cast<std::size_t>(gradient.cols)
                       : full.size() == n,
            "adafactor: the second moment has another size");
    const CudaView<float> weights(master.data, master.data == nullptr ? 0 : n);
    Totals* totals = ctx.cached<TotalsMemory>().buffer.view().data();
    device::check(cudaMemsetAsync(totals, 0, sizeof(Totals), ctx.stream()), "cudaMemsetAsync");
    if (options.scale == AdafactorOptions::Scale::parameter) {
        if (weights.empty())
            add_sum<Square>(ctx, CudaView<const T>(compute), &totals->weight_squares);
        else
            add_sum<Square>(ctx, CudaView<const float>(weights), &totals->weight_squares);
    }
    if (factorises) {
        average_squares(ctx, options, state, gradient, row, column, scratch);
        add_sum<Identity>(ctx, CudaView<const float>(row), &totals->rows);
        const FactoredUpdate update{state,      totals,        gradient,
                                    row.data(), column.data(), scratch.data()};
        for_each_element(ctx, update, n, gradient.data, scratch.data());
    } else {
        const FullUpdate update{state, options, gradient.data, full.data(), scratch.data()};
        for_each_element(ctx, update, n, gradient.data, full.data(), scratch.data());
    }
    add_sum<Square>(ctx, CudaView<const float>(scratch.subview(0, n)), &totals->update_squares);
    const Apply<T> apply{state,
                         options,
                         totals,
                         static_cast<double>(n),
                         scratch.data(),
                         weights_of(n, weights, compute),
                         first_moment.data()};
    for_each_element(ctx, apply, n, scratch.data(), weights.data(), compute.data(),
                     first_moment.data());
}

template void adafactor(CudaContext&, const AdafactorOptions&, const StepState*,
                        CudaMatrix<const float>, CudaMatrix<float>, CudaView<float>,
                        CudaView<float>, CudaView<float>, CudaView<float>, CudaView<float>,
                        CudaView<float>);
template void adafactor(CudaContext&, const AdafactorOptions&, const StepState*,
                        CudaMatrix<const float>, CudaMatrix<float>, CudaView<float>,
                        CudaView<float>, CudaView<float>, CudaView<float>, CudaView<float>,
                        CudaView<bf16>);
template void adafactor(CudaContext&, const AdafactorOptions&, const StepState*,
                        CudaMatrix<const float>, CudaMatrix<float>, CudaView<float>,
                        CudaView<float>, CudaView<float>, CudaView<float>, CudaView<float>,
                        CudaView<fp16>);

}  // namespace lockstep::kernels

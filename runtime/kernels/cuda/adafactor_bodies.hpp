// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/index.hpp"
#include "runtime/kernels/cuda/primitives/weight_update.hpp"
#include "runtime/kernels/optimizers.hpp"

// These structs are the elementwise computations of adafactor's kernels.
namespace lockstep::kernels::cuda::adafactor_bodies {

// Sums that one kernel writes and a later one reads.
struct Totals {
    double rows, weight_squares, update_squares;
};

__device__ __forceinline__ float beta2_of(const StepState& state, const AdafactorOptions& options) {
    return static_cast<float>(
        1.0 - pow(static_cast<double>(state.updates + 1), double{options.decay_rate}));
}

// Returns g^2 + epsilon.
struct GradientSquare {
    const StepState* state;
    float epsilon;
    __device__ __forceinline__ float operator()(float gradient) const {
        const float g = gradient * state->gradient_scale;
        return g * g + epsilon;
    }
};

// Computes average = beta2 average + (1 - beta2) sum / count.
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

    static constexpr int vectors = 1, resident = 6;
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

// Computes update = g / sqrt(row column / mean(row)).
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

// Computes moment = beta2 moment + (1 - beta2) (g^2 + epsilon) and update = g / sqrt(moment).
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

    // Calculates in double, as in fairseq.
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

}  // namespace lockstep::kernels::cuda::adafactor_bodies

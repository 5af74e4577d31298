// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "runtime/kernels/cuda/primitives/fast_math.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"
#include "runtime/kernels/softmax_xent.hpp"

// These functions process one row of logits with a block, in two passes: the statistics, and the
// gradient.
namespace lockstep::kernels::cuda {

constexpr int xent_threads = 512;

template <class T>
struct XentRows {
    CudaMatrix<T> logits;
    const std::int32_t* labels;
    const StepState* state;
    LossTerms terms;
    LossSums* losses;  // [rows]

    __device__ __forceinline__ T* row(std::int64_t i) const {
        return logits.data + i * logits.stride;
    }
};

// Calls body(first, values) for this thread's columns. It reads `ahead` vectors at once. The
// columns after the last whole vector are processed one by one, by the thread that would have the
// next vector.
template <int width, int ahead, class T, class Body>
__device__ __forceinline__ void for_columns(const T* row, std::int64_t cols, const Body& body) {
    const auto vectors = static_cast<int>(cols / width);
    auto i = static_cast<int>(threadIdx.x);
    const auto run = [&]<int count>() {
        const std::int64_t first = std::int64_t{i} * width;
        float values[count][width];
#pragma unroll
        for (int v = 0; v < count; ++v) load(row + first + v * xent_threads * width, values[v]);
#pragma unroll
        for (int v = 0; v < count; ++v) body(first + v * xent_threads * width, values[v]);
        i += count * xent_threads;
    };
    while (i + (ahead - 1) * xent_threads < vectors) run.template operator()<ahead>();
    if constexpr (ahead > 1)
#pragma unroll 1
        while (i < vectors) run.template operator()<1>();
    if constexpr (width > 1) {
        if (i % xent_threads != vectors % xent_threads) return;
#pragma unroll 1
        for (std::int64_t j = std::int64_t{vectors} * width; j < cols; ++j) {
            float values[1] = {widen(row[j])};
            body(j, values);
        }
    }
}

// The statistics of a thread's columns or of a row. `exponentials` is the sum of e^(x - largest).
struct RowStatistics {
    float largest = -INFINITY, exponentials = 0, sum = 0;

    // The sum is scaled when the maximum grows, so one pass is enough for both (Milakov and
    // Gimelshein, "Online normalizer calculation for softmax", 2018).
    template <class T, int n>
    __device__ __forceinline__ void add(const float (&values)[n]) {
        float most = values[0];
#pragma unroll
        for (int k = 1; k < n; ++k) most = fmaxf(most, values[k]);
        if (most > largest) {
            exponentials *= exponential<T>(largest - most);
            largest = most;
        }
        // The shift is 0 only before the first finite logit: -inf - -inf would be NaN.
        const float shift = largest == -INFINITY ? 0.0f : largest;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            exponentials += exponential<T>(values[k] - shift);
            sum += values[k];
        }
    }
};

// Merges the statistics of the threads into those of the row. The sum is calculated only if
// smoothing needs it.
template <int width, int ahead, class T>
__device__ __forceinline__ RowStatistics statistics_of(const T* x, std::int64_t cols,
                                                       float smoothing) {
    RowStatistics own, row;
    for_columns<width, ahead>(
        x, cols, [&]<int n>(std::int64_t, const float(&values)[n]) { own.add<T>(values); });
    row.largest = block_reduce<Largest>(own.largest);
    const float factor =
        own.largest == row.largest ? 1.0f : exponential<T>(own.largest - row.largest);
    row.exponentials = block_reduce<Sum>(own.exponentials * factor);
    if (smoothing > 0) row.sum = block_reduce<Sum>(own.sum);
    return row;
}

// Returns 1 if the label's entry is the first of the largest, else 0. Most rows stop at the first
// comparison.
template <int width, class T>
__device__ __forceinline__ int correct_of(const T* row, std::int32_t label, float at_label,
                                          float largest) {
    if (!(at_label == largest)) return 0;
    int earlier = 0;
    for_columns<width, 1>(row, label, [&]<int n>(std::int64_t, const float(&values)[n]) {
#pragma unroll
        for (int k = 0; k < n; ++k) earlier += values[k] == largest ? 1 : 0;
    });
    return block_reduce<Sum>(earlier) == 0 ? 1 : 0;
}

__device__ __forceinline__ double log_sum_of(const RowStatistics& row) {
    return double{row.largest} + log(double{row.exponentials});
}

__device__ __forceinline__ LossSums loss_of(const RowStatistics& row, float at_label, int correct,
                                            std::int64_t cols, float smoothing) {
    const double log_sum = log_sum_of(row);
    LossSums sums;
    sums.nll = log_sum - double{at_label};
    sums.loss = sums.nll;
    if (smoothing > 0)
        sums.loss = (1.0 - double{smoothing}) * sums.nll +
                    double{smoothing} * (log_sum - double{row.sum} / static_cast<double>(cols));
    sums.tokens = 1;
    sums.correct = correct;
    return sums;
}

// Calculates the label's entry separately: subtracting 1 from a rounded value would lose bits.
// `weight` is that of the probabilities.
__device__ __forceinline__ float gradient_at_label(float seed, float uniform, float smoothing,
                                                   double weight, const RowStatistics& row,
                                                   float at_label) {
    const double p =
        weight * exp(double{at_label} - double{row.largest}) / double{row.exponentials};
    return static_cast<float>((p - double{uniform} - (1.0 - double{smoothing})) * double{seed});
}

// The derivative of the z-loss is 2 z log(sum) times the probability.
__device__ __forceinline__ double probability_weight(const LossTerms& terms,
                                                     const RowStatistics& row) {
    return terms.z_loss > 0 ? 1.0 + 2.0 * double{terms.z_loss} * log_sum_of(row) : 1.0;
}

// Writes the gradient of the row x, which may be `to` itself. Calls then(first, values) with the
// values that were read of each vector.
template <int width, int ahead, class T, class Then>
__device__ __forceinline__ void write_gradient(const XentRows<T>& rows, const T* x, T* to,
                                               std::int32_t label, float at_label,
                                               const RowStatistics& row, const Then& then) {
    const float seed = rows.state->loss_seed;
    const float smoothing = rows.terms.label_smoothing;
    const float uniform = smoothing / static_cast<float>(rows.logits.cols);
    const double weight = probability_weight(rows.terms, row);
    const float scale = seed * static_cast<float>(weight) / row.exponentials,
                shared = uniform * seed;
    for_columns<width, ahead>(
        x, rows.logits.cols, [&]<int n>(std::int64_t j, const float(&values)[n]) {
            float gradients[n];
#pragma unroll
            for (int k = 0; k < n; ++k)
                gradients[k] = scale * exponential<T>(values[k] - row.largest) - shared;
            store(to + j, gradients);
            then(j, values);
        });
    if (static_cast<unsigned>(label / width) % xent_threads == threadIdx.x)
        to[label] = narrow<T>(gradient_at_label(seed, uniform, smoothing, weight, row, at_label));
}

}  // namespace lockstep::kernels::cuda

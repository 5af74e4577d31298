// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "runtime/kernels/cuda/elementwise.hpp"
#include "runtime/kernels/cuda/reduction.hpp"
#include "runtime/kernels/softmax_xent.hpp"

// A block has a row. It keeps the logits in shared memory where they fit, so that device memory is
// read once and written once; longer rows are read again, mostly from the second-level cache.
namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 512;

enum class Keep { shared, device };
enum class Gradient { none, written };

template <class T>
struct Rows {
    CudaMatrix<T> logits;
    const std::int32_t* labels;
    const StepState* state;
    float smoothing;
    LossSums* losses;  // [rows]
};

struct RowStatistics {
    float largest, exponentials, sum;  // exponentials: sum of e^(x - largest)
    int earlier;                       // entries before the label that are as large as the largest
};

// The fast one is off by 2^-21 of itself near 0 and more below: enough for 16-bit gradients.
template <class T>
__device__ __forceinline__ float exponential(float x) {
    if constexpr (sizeof(T) == 4)
        return expf(x);
    else
        return __expf(x);
}

// Calls body(first, values) for this thread's columns: vectors, and the rest of the row singly.
template <int width, class T, class Body>
__device__ __forceinline__ void for_columns(const T* row, std::int64_t cols, const Body& body) {
    const std::int64_t vectors = cols / width;
    for (std::int64_t i = threadIdx.x; i < vectors; i += threads) {
        float values[width];
        load(row + i * width, values);
        body(i * width, values);
    }
    if constexpr (width > 1) {
        const std::int64_t j = vectors * width + threadIdx.x;
        if (j >= cols) return;
        float values[1] = {widen(row[j])};
        body(j, values);
    }
}

// Keeps the row, and finds the largest logit.
template <int width, Keep keep, class T>
__device__ __forceinline__ float largest_of(const T* x, std::int64_t cols, T* kept) {
    float largest = -INFINITY;
    for_columns<width>(x, cols, [&]<int n>(std::int64_t j, const float(&values)[n]) {
        if constexpr (keep == Keep::shared) store(kept + j, values);
#pragma unroll
        for (int k = 0; k < n; ++k) largest = fmaxf(largest, values[k]);
    });
    return block_reduce<Largest>(largest);
}

template <int width, class T>
__device__ __forceinline__ RowStatistics statistics_of(const T* row, std::int64_t cols,
                                                       std::int32_t label, float largest) {
    RowStatistics found{largest, 0, 0, 0};
    for_columns<width>(row, cols, [&]<int n>(std::int64_t j, const float(&values)[n]) {
#pragma unroll
        for (int k = 0; k < n; ++k) {
            found.exponentials += exponential<T>(values[k] - largest);
            found.sum += values[k];
            found.earlier += j + k < label && values[k] == largest ? 1 : 0;
        }
    });
    found.exponentials = block_reduce<Sum>(found.exponentials);
    found.sum = block_reduce<Sum>(found.sum);
    found.earlier = block_reduce<Sum>(found.earlier);
    return found;
}

__device__ __forceinline__ LossSums loss_of(const RowStatistics& row, float at_label,
                                            std::int64_t cols, float smoothing) {
    const double log_sum = double{row.largest} + log(double{row.exponentials});
    LossSums sums;
    sums.nll = log_sum - double{at_label};
    sums.loss = sums.nll;
    if (smoothing > 0)
        sums.loss = (1.0 - double{smoothing}) * sums.nll +
                    double{smoothing} * (log_sum - double{row.sum} / static_cast<double>(cols));
    sums.tokens = 1;
    sums.correct = at_label == row.largest && row.earlier == 0 ? 1 : 0;
    return sums;
}

// The label's entry is computed apart: subtracting 1 from a rounded value would lose bits.
template <int width, class T>
__device__ __forceinline__ void write_gradient(const Rows<T>& rows, const T* row, T* to,
                                               std::int32_t label, float label_logit,
                                               const RowStatistics& found) {
    const std::int64_t cols = rows.logits.cols;
    const float seed = rows.state->loss_seed, uniform = rows.smoothing / static_cast<float>(cols);
    const float scale = seed / found.exponentials, shared = uniform * seed;
    const double p = exp(double{label_logit} - double{found.largest}) / double{found.exponentials};
    const auto at_label =
        static_cast<float>((p - double{uniform} - (1.0 - double{rows.smoothing})) * double{seed});
    for_columns<width>(row, cols, [&]<int n>(std::int64_t j, const float(&values)[n]) {
        float gradients[n];
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const float other = scale * exponential<T>(values[k] - found.largest) - shared;
            gradients[k] = j + k == label ? at_label : other;
        }
        store(to + j, gradients);
    });
}

template <int width, Keep keep, Gradient gradient, class T>
__global__ void __launch_bounds__(threads) softmax_xent_kernel(Rows<T> rows) {
    const std::int64_t row = blockIdx.x, cols = rows.logits.cols;
    T* x = rows.logits.data + row * rows.logits.stride;
    const std::int32_t label = rows.labels[row];
    const bool wrong = label >= cols;
    if (label < 0 || wrong) {
        if (threadIdx.x == 0) {
            rows.losses[row] = LossSums{};
            if (wrong) rows.losses[row].loss = nan("");
        }
        if constexpr (gradient == Gradient::written)
            for_columns<width>(x, cols, [&]<int n>(std::int64_t j, const float(&)[n]) {
                const float zeros[n] = {};
                store(x + j, zeros);
            });
        return;
    }
    T* kept = keep == Keep::shared ? dynamic_shared_memory<T>() : x;
    const float largest = largest_of<width, keep>(x, cols, kept);
    const RowStatistics found = statistics_of<width>(kept, cols, label, largest);
    const float at_label = widen(kept[label]);
    if (threadIdx.x == 0) rows.losses[row] = loss_of(found, at_label, cols, rows.smoothing);
    if constexpr (gradient == Gradient::written) {
        __syncthreads();  // everyone has read the label's logit, which may be overwritten now
        write_gradient<width>(rows, kept, x, label, at_label, found);
    }
}

// sums += the rows' losses, in an order that their number alone decides.
__global__ void __launch_bounds__(threads)
    add_losses_kernel(const LossSums* losses, std::int64_t rows, LossSums* sums) {
    LossSums own;
    for (std::int64_t i = threadIdx.x; i < rows; i += threads) own += losses[i];
    LossSums total;
    total.loss = block_reduce<Sum>(own.loss);
    total.nll = block_reduce<Sum>(own.nll);
    total.tokens = block_reduce<Sum>(own.tokens);
    total.correct = block_reduce<Sum>(own.correct);
    if (threadIdx.x == 0) *sums += total;
}

template <int width, Gradient gradient, class T>
void run(CudaContext& ctx, const Rows<T>& rows) {
    const std::size_t row_bytes = static_cast<std::size_t>(rows.logits.cols) * sizeof(T);
    // The rest is for the reductions' own.
    const bool fits = row_bytes + 4096 <= ctx.properties().most_shared_bytes;
    launch(ctx,
           fits ? softmax_xent_kernel<width, Keep::shared, gradient, T>
                : softmax_xent_kernel<width, Keep::device, gradient, T>,
           {blocks_for(rows.logits.rows, 1), threads, fits ? row_bytes : 0}, rows);
}

template <Gradient gradient, class T>
void add_losses(CudaContext& ctx, const StepState* state, CudaMatrix<T> logits,
                CudaView<const std::int32_t> labels, float smoothing, LossSums* sums) {
    require(static_cast<std::int64_t>(labels.size()) == logits.rows,
            "cross entropy: one label a row");
    if (logits.empty()) return;
    const auto losses = ctx.scratch<LossSums>(labels.size());
    const Rows<T> rows{logits, labels.data(), state, smoothing, losses.data()};
    // Columns that fill no vector at a row's end are no hindrance.
    constexpr int width = vector_width<T>;
    if (by_vectors(logits.data, width, logits.stride))
        run<width, gradient>(ctx, rows);
    else
        run<1, gradient>(ctx, rows);
    launch(ctx, add_losses_kernel, {1, threads}, losses.data(), logits.rows, sums);
}

}  // namespace

template <class T>
void softmax_xent_forward(CudaContext& ctx, CudaMatrix<const T> logits,
                          CudaView<const std::int32_t> labels, float label_smoothing,
                          LossSums* sums) {
    // Without a gradient nothing is written.
    add_losses<Gradient::none, T>(
        ctx, nullptr, {const_cast<T*>(logits.data), logits.rows, logits.cols, logits.stride},
        labels, label_smoothing, sums);
}

template <class T>
void softmax_xent_forward_backward(CudaContext& ctx, const StepState* state, CudaMatrix<T> logits,
                                   CudaView<const std::int32_t> labels, float label_smoothing,
                                   LossSums* sums) {
    add_losses<Gradient::written>(ctx, state, logits, labels, label_smoothing, sums);
}

template void softmax_xent_forward(CudaContext&, CudaMatrix<const float>,
                                   CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward(CudaContext&, CudaMatrix<const bf16>,
                                   CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward(CudaContext&, CudaMatrix<const fp16>,
                                   CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward_backward(CudaContext&, const StepState*, CudaMatrix<float>,
                                            CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward_backward(CudaContext&, const StepState*, CudaMatrix<bf16>,
                                            CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward_backward(CudaContext&, const StepState*, CudaMatrix<fp16>,
                                            CudaView<const std::int32_t>, float, LossSums*);

}  // namespace lockstep::kernels

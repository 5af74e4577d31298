// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/row_warps.hpp"
#include "runtime/kernels/cuda/softmax_xent_row.hpp"

// The gradient needs each row twice. Rows that fit into shared memory are kept there, so that
// device memory is read once and written once. Longer rows are read again, mostly from the
// second-level cache.
namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int resident = 2;  // blocks on a multiprocessor: one computes while one moves memory

enum class Gradient { none, written };

__device__ __forceinline__ bool is_entry(std::int32_t label, std::int64_t cols) {
    return label >= 0 && label < cols;
}

// Handles a row without a label, which has no loss and no gradient, or with a label past the end,
// whose loss is NaN.
template <int width, Gradient gradient, class T>
__device__ __forceinline__ void clear_row(const XentRows<T>& rows, std::int64_t row,
                                          std::int32_t label) {
    if (threadIdx.x == 0) {
        rows.losses[row] = LossSums{};
        if (label >= 0) rows.losses[row].loss = nan("");
    }
    if constexpr (gradient == Gradient::written)
        for_columns<width, 1>(rows.row(row), rows.logits.cols,
                              [&]<int n>(std::int64_t j, const float(&)[n]) {
                                  const float zeros[n] = {};
                                  store(rows.row(row) + j, zeros);
                              });
}

// A block processes one row.
template <int width, Gradient gradient, class T>
__global__ void __launch_bounds__(xent_threads, resident) row_kernel(XentRows<T> rows) {
    constexpr int ahead = gradient == Gradient::none ? 4 : 2;
    const std::int64_t row = blockIdx.x, cols = rows.logits.cols;
    const std::int32_t label = rows.labels[row];
    if (!is_entry(label, cols)) return clear_row<width, gradient>(rows, row, label);
    T* x = rows.row(row);
    const RowStatistics found = statistics_of<width, ahead>(x, cols, rows.terms.label_smoothing);
    const float at_label = widen(x[label]);
    const int correct = correct_of<width>(x, label, at_label, found.largest);
    if constexpr (gradient == Gradient::written) {
        __syncthreads();  // all threads have read the label's logit
        write_gradient<width, ahead>(rows, x, x, label, at_label, found,
                                     []<int n>(std::int64_t, const float(&)[n]) {});
    }
    if (threadIdx.x == 0)
        rows.losses[row] = loss_of(found, at_label, correct, cols, rows.terms.label_smoothing);
}

struct LabelledRow {
    std::int64_t row;
    std::int32_t label;
};

// Returns this block's first row with a label from `row` on, and clears its rows before that one.
template <int width, class T>
__device__ __forceinline__ LabelledRow next_labelled(const XentRows<T>& rows, std::int64_t row) {
    for (; row < rows.logits.rows; row += gridDim.x) {
        const std::int32_t label = rows.labels[row];
        if (is_entry(label, rows.logits.cols)) return {row, label};
        clear_row<width, Gradient::written>(rows, row, label);
    }
    return {row, 0};
}

// Blocks go on from row to row. When a vector's gradient has been written, the same vector of the
// next row is copied to the vector's shared memory, so that device memory is read and written at
// the same time. A thread waits only for its own vectors.
template <int width, class T>
__global__ void __launch_bounds__(xent_threads, resident) kept_rows_kernel(XentRows<T> rows) {
    constexpr int ahead = 2;
    const std::int64_t cols = rows.logits.cols;
    T* kept = dynamic_shared_memory<T>();
    LabelledRow at = next_labelled<width>(rows, blockIdx.x);
    for (std::int64_t j = std::int64_t{threadIdx.x} * width; j < cols; j += xent_threads * width)
        if (at.row < rows.logits.rows) copy16_async(kept + j, rows.row(at.row) + j);
    end_copy_group();
    while (at.row < rows.logits.rows) {
        const LabelledRow next = next_labelled<width>(rows, at.row + gridDim.x);
        wait_copies<0>();
        const RowStatistics found =
            statistics_of<width, ahead>(kept, cols, rows.terms.label_smoothing);
        const float at_label = widen(kept[at.label]);
        const int correct = correct_of<width>(kept, at.label, at_label, found.largest);
        __syncthreads();  // all threads have read the label's logit
        const T* from = next.row < rows.logits.rows ? rows.row(next.row) : nullptr;
        write_gradient<width, ahead>(rows, kept, rows.row(at.row), at.label, at_label, found,
                                     [&]<int n>(std::int64_t j, const float(&)[n]) {
                                         // The last vector may be read in parts. Its copy then ends
                                         // in the row's padding.
                                         if (from != nullptr && (n == width || j + 1 == cols))
                                             copy16_async(kept + j / width * width,
                                                          from + j / width * width);
                                     });
        end_copy_group();
        if (threadIdx.x == 0)
            rows.losses[at.row] =
                loss_of(found, at_label, correct, cols, rows.terms.label_smoothing);
        at = next;
    }
}

// Adds the rows' losses to *sums, in an order that depends only on their number.
__global__ void __launch_bounds__(xent_threads)
    add_losses_kernel(const LossSums* losses, std::int64_t rows, LossSums* sums) {
    LossSums own;
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < rows; i += xent_threads) own += losses[i];
    LossSums total;
    total.loss = block_reduce<Sum>(own.loss);
    total.nll = block_reduce<Sum>(own.nll);
    total.tokens = block_reduce<Sum>(own.tokens);
    total.correct = block_reduce<Sum>(own.correct);
    if (threadIdx.x == 0) *sums += total;
}

template <int width, Gradient gradient, class T>
void run(CudaContext& ctx, const XentRows<T>& rows) {
    if constexpr (width > 1 && gradient == Gradient::written) {
        const std::size_t bytes = row_bytes<T>(rows.logits.cols),
                          most = ctx.properties().max_shared_bytes;
        constexpr std::size_t reductions = 2048;  // used by block_reduce and the GPU
        if (bytes + reductions <= most) {
            const auto fitting = static_cast<int>(most / (bytes + reductions));
            launch(ctx, kept_rows_kernel<width, T>,
                   {resident_blocks(ctx, rows.logits.rows, 1, std::min(resident, fitting)),
                    xent_threads, bytes},
                   rows);
            return;
        }
    }
    launch(ctx, row_kernel<width, gradient, T>, {blocks_for(rows.logits.rows, 1), xent_threads},
           rows);
}

template <Gradient gradient, class T>
void each_row(CudaContext& ctx, const StepState* state, CudaMatrix<T> logits,
              CudaView<const std::int32_t> labels, const LossTerms& terms, LossSums* losses) {
    require(static_cast<std::int64_t>(labels.size()) == logits.rows,
            "cross entropy: one label a row");
    if (logits.empty()) return;
    const XentRows<T> rows{logits, labels.data(), state, terms, losses};
    // Columns at a row's end that fill no whole vector do no harm.
    constexpr int width = vector_width<T>;
    if (by_vectors(logits.data, width, logits.stride))
        run<width, gradient>(ctx, rows);
    else
        run<1, gradient>(ctx, rows);
}

}  // namespace

template <class T>
void softmax_xent_forward(CudaContext& ctx, CudaMatrix<const T> logits,
                          CudaView<const std::int32_t> labels, float label_smoothing,
                          LossSums* losses) {
    // The logits are not written without a gradient.
    each_row<Gradient::none, T>(
        ctx, nullptr, {const_cast<T*>(logits.data), logits.rows, logits.cols, logits.stride},
        labels, {label_smoothing}, losses);
}

template <class T>
void softmax_xent_forward_backward(CudaContext& ctx, const StepState* state, CudaMatrix<T> logits,
                                   CudaView<const std::int32_t> labels, const LossTerms& terms,
                                   LossSums* sums) {
    if (logits.empty()) return;
    const auto each = ctx.scratch<LossSums>(labels.size());
    each_row<Gradient::written>(ctx, state, logits, labels, terms, each.data());
    launch(ctx, add_losses_kernel, {1, xent_threads}, each.data(), logits.rows, sums);
}

template void softmax_xent_forward(CudaContext&, CudaMatrix<const float>,
                                   CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward(CudaContext&, CudaMatrix<const bf16>,
                                   CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward(CudaContext&, CudaMatrix<const fp16>,
                                   CudaView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward_backward(CudaContext&, const StepState*, CudaMatrix<float>,
                                            CudaView<const std::int32_t>, const LossTerms&,
                                            LossSums*);
template void softmax_xent_forward_backward(CudaContext&, const StepState*, CudaMatrix<bf16>,
                                            CudaView<const std::int32_t>, const LossTerms&,
                                            LossSums*);
template void softmax_xent_forward_backward(CudaContext&, const StepState*, CudaMatrix<fp16>,
                                            CudaView<const std::int32_t>, const LossTerms&,
                                            LossSums*);

}  // namespace lockstep::kernels

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/norm_backward_rows.hpp"
#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/norm_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int resident_backward_blocks = 3;  // per multiprocessor

template <int width, Masking masking, NormKind kind, class T>
__global__ void __launch_bounds__(max_row_warps* warp_size, resident_backward_blocks)
    norm_backward_kernel(NormBackwardBody<T> b) {
    const unsigned warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    const std::int64_t cols = b.sum.cols;
    const BlockMemory<T> memory = block_memory(b);
    for (std::int64_t j = threadIdx.x; j < b.sums * memory.sum_stride; j += blockDim.x)
        memory.sums[j] = 0;
    const std::int64_t first = blockIdx.x * b.block_rows;
    const std::int64_t end = first + b.block_rows < b.sum.rows ? first + b.block_rows : b.sum.rows;
    for (std::int64_t group = first; group < end; group += warps) {
        const std::int64_t row = group + warp;
        if (row < end) {
            const RowMemory<T> own = row_memory(memory, warp);
            const float mean = mean_of<kind>(b, row), rstd = b.rstd[row];
            const NormTotals totals = first_pass<width>(b, row, mean, rstd, own);
            const auto d = static_cast<float>(cols);
            const float mean_g = kind == NormKind::rms ? 0.0f : totals.g / d;
            second_pass<width, masking>(b, row, mean, rstd, {mean_g, totals.gh / d}, own);
        }
        __syncthreads();
        add_rows<width, kind>(
            b, group, end - group < warps ? static_cast<unsigned>(end - group) : warps, memory);
        __syncthreads();  // the next rows may be written
    }
    // The rms norm has no dbeta.
    constexpr int left_out = kind == NormKind::rms ? 1 : 0;
    float* part = b.parts + blockIdx.x * (b.sums - left_out) * cols;
    for (int i = 0; i < b.sums - left_out; ++i) {
        const int from = i == 0 ? 0 : i + left_out;
        for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x)
            part[i * cols + j] = memory.sums[from * memory.sum_stride + j];
    }
}

template <int width, NormKind kind, class T>
void run(CudaContext& ctx, const NormBackward<T, CudaSpace>& o, NormBackwardBody<T> b) {
    b.sums = o.dbias.empty() ? 2 : 3;
    const std::size_t fixed = sums_bytes(b), each = warp_bytes(b);
    const int warps = row_warps(ctx, each, fixed);
    const std::size_t block_bytes = fixed + static_cast<std::size_t>(warps) * each;
    // Uses as many blocks as the GPU holds at once, so that there are few partial sums. Each block
    // takes 1 KiB more than it asks for.
    constexpr std::size_t reserved = 1024;
    const auto resident = static_cast<std::int64_t>(std::clamp<std::size_t>(
        (ctx.properties().max_shared_bytes + reserved) / (block_bytes + reserved), 1,
        resident_backward_blocks));
    const std::int64_t most = ctx.properties().multiprocessors * resident;
    b.block_rows = (b.sum.rows + most * warps - 1) / (most * warps) * warps;
    const unsigned blocks = blocks_for(b.sum.rows, b.block_rows);
    constexpr int left_out = kind == NormKind::rms ? 1 : 0;
    const CudaMatrix<float> parts = parts_memory(ctx, blocks, (b.sums - left_out) * b.sum.cols);
    b.parts = parts.data;
    launch(ctx,
           b.mask.state == nullptr ? norm_backward_kernel<width, Masking::off, kind, T>
                                   : norm_backward_kernel<width, Masking::on, kind, T>,
           {blocks, static_cast<unsigned>(warps * warp_size), block_bytes}, b);
    if constexpr (kind == NormKind::rms) {
        if (o.dbias.empty()) return sum_parts_by_column(ctx, parts, {o.dgamma}, o.into);
        return sum_parts_by_column(ctx, parts, {o.dgamma, o.dbias}, o.into);
    }
    if (o.dbias.empty())
        sum_parts_by_column(ctx, parts, {o.dgamma, o.dbeta}, o.into);
    else
        sum_parts_by_column(ctx, parts, {o.dgamma, o.dbeta, o.dbias}, o.into);
}

template <int width, class T>
void run(CudaContext& ctx, const NormBackward<T, CudaSpace>& o, const NormBackwardBody<T>& b) {
    if (o.kind == NormKind::rms) return run<width, NormKind::rms>(ctx, o, b);
    run<width, NormKind::layer>(ctx, o, b);
}

}  // namespace

template <class T>
void norm_backward(CudaContext& ctx, const NormBackward<T, CudaSpace>& o) {
    check(o);
    if (o.sum.empty()) {
        const CudaView<float> totals[] = {o.dgamma, o.dbeta, o.dbias};
        if (o.into == Into::overwrite)
            for (const auto& total : totals) fill_zero(ctx, total);
        return;
    }
    const NormBackwardBody<T> b{
        o.d_branch.empty() ? Mask{} : mask_of(o.dropout, o.coordinates, o.sum.rows),
        o.dy,
        o.d_sum.empty() ? CudaMatrix<const T>{} : o.d_sum,
        o.sum,
        o.mean.data(),
        o.rstd.data(),
        o.gamma.data(),
        o.dx,
        o.d_branch.empty() ? CudaMatrix<T>{} : o.d_branch,
        nullptr,
        0,
        0};
    if (by_vectors(b.dy) && by_vectors(b.d_sum) && by_vectors(b.sum) && by_vectors(b.dx) &&
        by_vectors(b.d_branch) && by_vectors(b.gamma, b.sum.cols, b.sum.cols))
        run<vector_width<T>>(ctx, o, b);
    else
        run<1>(ctx, o, b);
}

template void norm_backward(CudaContext&, const NormBackward<float, CudaSpace>&);
template void norm_backward(CudaContext&, const NormBackward<bf16, CudaSpace>&);
template void norm_backward(CudaContext&, const NormBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels

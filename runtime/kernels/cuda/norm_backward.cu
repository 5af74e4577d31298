// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/norm_backward_rows.hpp"
#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/norm.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int resident_backward_blocks = 3;  // per multiprocessor

template <int width, Masking masking, class T>
__global__ void __launch_bounds__(max_row_warps* warp_size, resident_backward_blocks)
    norm_backward_kernel(NormBackward<T> b) {
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
            const float mean = b.mean[row], rstd = b.rstd[row];
            const NormTotals totals = first_pass<width>(b, row, mean, rstd, own);
            const auto d = static_cast<float>(cols);
            second_pass<width, masking>(b, row, mean, rstd, {totals.g / d, totals.gh / d}, own);
        }
        __syncthreads();
        add_rows<width>(b, group, end - group < warps ? static_cast<unsigned>(end - group) : warps,
                        memory);
        __syncthreads();  // the next rows may be written
    }
    float* part = b.parts + blockIdx.x * b.sums * cols;
    for (int i = 0; i < b.sums; ++i)
        for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x)
            part[i * cols + j] = memory.sums[i * memory.sum_stride + j];
}

template <int width, class T>
void run(CudaContext& ctx, NormBackward<T> b, CudaView<float> dgamma, CudaView<float> dbeta,
         CudaView<float> dbias, Into into) {
    b.sums = dbias.empty() ? 2 : 3;
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
    const CudaMatrix<float> parts = parts_memory(ctx, blocks, b.sums * b.sum.cols);
    b.parts = parts.data;
    launch(ctx,
           b.mask.state == nullptr ? norm_backward_kernel<width, Masking::off, T>
                                   : norm_backward_kernel<width, Masking::on, T>,
           {blocks, static_cast<unsigned>(warps * warp_size), block_bytes}, b);
    if (dbias.empty())
        sum_parts_by_column(ctx, parts, {dgamma, dbeta}, into);
    else
        sum_parts_by_column(ctx, parts, {dgamma, dbeta, dbias}, into);
}

}  // namespace

template <class T>
void norm_backward(CudaContext& ctx, const Dropout& site, TokenPlaces<CudaSpace> places,
                   CudaMatrix<const T> dy, CudaMatrix<const T> d_sum, CudaMatrix<const T> sum,
                   CudaView<const float> mean, CudaView<const float> rstd, CudaView<const T> gamma,
                   CudaMatrix<T> dx, CudaMatrix<T> d_branch, CudaView<float> dgamma,
                   CudaView<float> dbeta, CudaView<float> dbias, Into into) {
    const auto d = static_cast<std::size_t>(sum.cols);
    require(same_shape(dy, sum) && same_shape(dx, sum) && gamma.size() == d && dgamma.size() == d &&
                dbeta.size() == d && (dbias.empty() || dbias.size() == d),
            "norm backward: shapes differ");
    require((d_sum.empty() || same_shape(d_sum, sum)) &&
                (d_branch.empty() || same_shape(d_branch, sum)),
            "norm backward: the residual's shapes differ");
    if (sum.empty()) {
        if (into == Into::overwrite)
            for (const auto& total : {dgamma, dbeta, dbias}) fill_zero(ctx, total);
        return;
    }
    const Mask mask = d_branch.empty() ? Mask{} : mask_of(site, places, sum.rows);
    const NormBackward<T> b{
        mask,         dy,          d_sum.empty() ? CudaMatrix<const T>{} : d_sum,
        sum,          mean.data(), rstd.data(),
        gamma.data(), dx,          d_branch.empty() ? CudaMatrix<T>{} : d_branch,
        nullptr,      0,           0};
    if (by_vectors(dy) && by_vectors(b.d_sum) && by_vectors(sum) && by_vectors(dx) &&
        by_vectors(b.d_branch) && by_vectors(b.gamma, sum.cols, sum.cols))
        run<vector_width<T>>(ctx, b, dgamma, dbeta, dbias, into);
    else
        run<1>(ctx, b, dgamma, dbeta, dbias, into);
}

template void norm_backward(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>,
                            CudaMatrix<const float>, CudaMatrix<const float>,
                            CudaMatrix<const float>, CudaView<const float>, CudaView<const float>,
                            CudaView<const float>, CudaMatrix<float>, CudaMatrix<float>,
                            CudaView<float>, CudaView<float>, CudaView<float>, Into);
template void norm_backward(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>,
                            CudaMatrix<const bf16>, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                            CudaView<const float>, CudaView<const float>, CudaView<const bf16>,
                            CudaMatrix<bf16>, CudaMatrix<bf16>, CudaView<float>, CudaView<float>,
                            CudaView<float>, Into);
template void norm_backward(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>,
                            CudaMatrix<const fp16>, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                            CudaView<const float>, CudaView<const float>, CudaView<const fp16>,
                            CudaMatrix<fp16>, CudaMatrix<fp16>, CudaView<float>, CudaView<float>,
                            CudaView<float>, Into);

}  // namespace lockstep::kernels

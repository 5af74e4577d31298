// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/head_norm.hpp"

#include "runtime/kernels/cpu/norm_rows.hpp"
#include "runtime/kernels/cpu/primitives/column_sums.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/head_norm_checks.hpp"

namespace lockstep::kernels {

template <class T>
void head_norm_forward(CpuContext& ctx, const HeadNormForward<T, HostSpace>& o) {
    check(o);
    const std::int64_t d = o.head_dim, heads = o.x.cols / d;
    cpu::parallel_for(ctx, o.x.rows, o.x.rows * o.x.cols, [&](std::int64_t i) {
        const T* const x = o.x.data + i * o.x.stride;
        T* const y = o.y.data + i * o.y.stride;
        float* const rstd = o.rstd.data() + i * heads;
        for (std::int64_t h = 0; h < heads; ++h)
            rstd[h] = cpu::rms_norm_row(x + h * d, o.gamma.data(), o.epsilon, y + h * d, d);
    });
}

template <class T>
void head_norm_backward(CpuContext& ctx, const HeadNormBackward<T, HostSpace>& o) {
    check(o);
    const std::int64_t d = o.head_dim, heads = o.x.cols / d;
    cpu::column_sums(ctx, o.x.rows, d, o.dgamma, o.into, [&](std::int64_t i, float* sums) {
        for (std::int64_t h = 0; h < heads; ++h) {
            const cpu::NormGradients<T> head{o.dy.data + i * o.dy.stride + h * d,
                                             nullptr,
                                             o.x.data + i * o.x.stride + h * d,
                                             o.gamma.data(),
                                             o.dx.data + i * o.dx.stride + h * d,
                                             nullptr,
                                             sums,
                                             nullptr,
                                             nullptr};
            cpu::rms_norm_backward_row(cpu::RowMask{}, head, o.rstd.data()[i * heads + h], d);
        }
    });
}

template void head_norm_forward(CpuContext&, const HeadNormForward<float, HostSpace>&);
template void head_norm_forward(CpuContext&, const HeadNormForward<bf16, HostSpace>&);
template void head_norm_backward(CpuContext&, const HeadNormBackward<float, HostSpace>&);
template void head_norm_backward(CpuContext&, const HeadNormBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels

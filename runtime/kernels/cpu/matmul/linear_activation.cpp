// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include <type_traits>

#include "runtime/kernels/cpu/matmul/linear_checks.hpp"
#include "runtime/kernels/cpu/matmul/pair_products.hpp"
#include "runtime/kernels/separate_activation.hpp"

namespace lockstep::kernels {

template <class T>
void linear_activation_forward(CpuContext& ctx, const LinearActivationForward<T, HostSpace>& o) {
    if constexpr (std::is_same_v<T, bf16>) {
        if (o.site.f == Activation::relu && o.hidden.data == o.y.data) {
            cpu::check_layer(o.x, o.w, o.bias, o.y);
            const cpu::AfterProduct after{cpu::Rectifier::relu, cpu::row_mask(o.site.dropout),
                                          o.site.coordinates};
            if (cpu::layer_of_pairs(ctx, o.x, o.w, o.bias, after, o.y)) return;
        }
    }
    separate_activation_forward(ctx, o);
}

template <class T>
void linear_activation_backward(CpuContext& ctx, const LinearActivationBackward<T, HostSpace>& o) {
    separate_activation_backward(ctx, o);
}

template void linear_activation_forward(CpuContext&,
                                        const LinearActivationForward<float, HostSpace>&);
template void linear_activation_forward(CpuContext&,
                                        const LinearActivationForward<bf16, HostSpace>&);
template void linear_activation_backward(CpuContext&,
                                         const LinearActivationBackward<float, HostSpace>&);
template void linear_activation_backward(CpuContext&,
                                         const LinearActivationBackward<bf16, HostSpace>&);

}  // namespace lockstep::kernels

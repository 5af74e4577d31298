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
        const bool plain_relu = o.site.f == Activation::relu && !o.site.dropout.active();
        if (plain_relu && o.hidden.data == o.y.data) {
            cpu::check_layer(o.x, o.w, o.bias, o.y);
            if (cpu::layer_of_pairs(ctx, o.x, o.w, o.bias, cpu::Rectifier::relu, o.y)) return;
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

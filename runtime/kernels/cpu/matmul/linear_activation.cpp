// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include "runtime/kernels/separate_activation.hpp"

namespace lockstep::kernels {

template <class T>
void linear_activation_forward(CpuContext& ctx, const LinearActivationForward<T, HostSpace>& o) {
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

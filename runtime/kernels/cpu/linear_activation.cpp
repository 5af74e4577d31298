// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include "runtime/kernels/linear.hpp"

namespace lockstep::kernels {

template <class T>
void linear_activation_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                               HostView<const T> bias, const ActivationSite<HostSpace>& site,
                               HostMatrix<T> hidden, HostMatrix<T> y) {
    linear_forward<T>(ctx, x, w, bias, hidden);
    activation_forward<T>(ctx, site.f, site.dropout, site.places, hidden, y);
}

template <class T>
void linear_activation_backward(CpuContext& ctx, HostMatrix<const T> dz, HostMatrix<const T> w,
                                const ActivationSite<HostSpace>& site, HostMatrix<const T> hidden,
                                HostMatrix<const T> y, HostMatrix<T> d_hidden, HostView<float> db,
                                Into into) {
    linear_backward_input<T>(ctx, dz, w, d_hidden, Into::overwrite);
    if (site.f == Activation::relu)
        relu_backward<T>(ctx, {.dropout = site.dropout,
                               .y = y,
                               .dy = d_hidden,
                               .dx = d_hidden,
                               .db = db,
                               .into = into});
    else
        activation_backward<T>(ctx, {.f = site.f,
                                     .dropout = site.dropout,
                                     .places = site.places,
                                     .x = hidden,
                                     .dy = d_hidden,
                                     .dx = d_hidden,
                                     .db = db,
                                     .into = into});
}

template void linear_activation_forward(CpuContext&, HostMatrix<const float>,
                                        HostMatrix<const float>, HostView<const float>,
                                        const ActivationSite<HostSpace>&, HostMatrix<float>,
                                        HostMatrix<float>);
template void linear_activation_forward(CpuContext&, HostMatrix<const bf16>, HostMatrix<const bf16>,
                                        HostView<const bf16>, const ActivationSite<HostSpace>&,
                                        HostMatrix<bf16>, HostMatrix<bf16>);
template void linear_activation_backward(CpuContext&, HostMatrix<const float>,
                                         HostMatrix<const float>, const ActivationSite<HostSpace>&,
                                         HostMatrix<const float>, HostMatrix<const float>,
                                         HostMatrix<float>, HostView<float>, Into);
template void linear_activation_backward(CpuContext&, HostMatrix<const bf16>,
                                         HostMatrix<const bf16>, const ActivationSite<HostSpace>&,
                                         HostMatrix<const bf16>, HostMatrix<const bf16>,
                                         HostMatrix<bf16>, HostView<float>, Into);

}  // namespace lockstep::kernels

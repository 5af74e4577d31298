// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// oneDNN, cuBLASLt and, on some processors, code of our own calculate the matrix products. Rows may
// be strided (a slice of columns of a wider matrix). The functions are instantiated for float and
// bf16, on GPUs also for fp16; weight gradients are always fp32.

// Calculates y [rows, out] = x [rows, in] * w [out, in]^T + bias [out]; an empty bias adds nothing.
template <class T>
void linear_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                    HostView<const T> bias, HostMatrix<T> y);
template <class T>
void linear_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                    CudaView<const T> bias, CudaMatrix<T> y);

// Calculates dx [rows, in] = or += dy [rows, out] * w [out, in].
template <class T>
void linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                           HostMatrix<T> dx, Into into);
template <class T>
void linear_backward_input(CudaContext& ctx, CudaMatrix<const T> dy, CudaMatrix<const T> w,
                           CudaMatrix<T> dx, Into into);

// Calculates dw [out, in] = or += dy^T * x. If there are no rows, the product is zero, and dw must
// have no gaps between its rows.
template <class T>
void linear_backward_weight(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> dy,
                            HostMatrix<float> dw, Into into);
template <class T>
void linear_backward_weight(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> dy,
                            CudaMatrix<float> dw, Into into);

// Calculates db [out] = or += the sum over rows of dy.
template <class T>
void bias_backward(CpuContext& ctx, HostMatrix<const T> dy, HostView<float> db, Into into);
template <class T>
void bias_backward(CudaContext& ctx, CudaMatrix<const T> dy, CudaView<float> db, Into into);

// Calculates the gradients of weight and bias. On GPUs one product calculates both if dy is small:
// a pass over dy then takes little more than its launch.
template <class T>
void linear_backward_parameters(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> dy,
                                HostMatrix<float> dw, HostView<float> db, Into into) {
    bias_backward<T>(ctx, dy, db, into);
    linear_backward_weight<T>(ctx, x, dy, dw, into);
}
template <class T>
void linear_backward_parameters(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> dy,
                                CudaMatrix<float> dw, CudaView<float> db, Into into);

}  // namespace lockstep::kernels

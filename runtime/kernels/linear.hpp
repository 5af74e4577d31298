// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Products go through oneDNN and cuBLASLt; rows may be strided (a slice of columns of a wider
// matrix). Instantiated for float and bf16, on GPUs also for fp16; weight gradients are always
// fp32.

// y [rows, out] = x [rows, in] * w [out, in]^T + bias [out]; an empty bias adds nothing.
template <class T>
void linear_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                    HostView<const T> bias, HostMatrix<T> y);
template <class T>
void linear_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                    CudaView<const T> bias, CudaMatrix<T> y);

// dx [rows, in] = or += dy [rows, out] * w [out, in]
template <class T>
void linear_backward_input(CpuContext& ctx, HostMatrix<const T> dy, HostMatrix<const T> w,
                           HostMatrix<T> dx, Into into);
template <class T>
void linear_backward_input(CudaContext& ctx, CudaMatrix<const T> dy, CudaMatrix<const T> w,
                           CudaMatrix<T> dx, Into into);

// dw [out, in] = or += dy^T * x; of no rows, whose product is zero, dw is written without gaps.
template <class T>
void linear_backward_weight(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> dy,
                            HostMatrix<float> dw, Into into);
template <class T>
void linear_backward_weight(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> dy,
                            CudaMatrix<float> dw, Into into);

// db [out] = or += sum over rows of dy
template <class T>
void bias_backward(CpuContext& ctx, HostMatrix<const T> dy, HostView<float> db, Into into);
template <class T>
void bias_backward(CudaContext& ctx, CudaMatrix<const T> dy, CudaView<float> db, Into into);

// The weight's gradient and the bias's: by one product on GPUs where dy is small, as a pass over it
// takes little more than a launch then.
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

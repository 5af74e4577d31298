// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"

#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/small_products.hpp"

namespace lockstep::kernels {

using cuda::multiply;
using cuda::Product;
using cuda::Transpose;

namespace {

constexpr float beta_of(Into into) { return into == Into::add ? 1.0f : 0.0f; }

}  // namespace

template <class T>
void linear_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                    CudaView<const T> bias, CudaMatrix<T> y) {
    Product<T, T> product{x, Transpose::no, w, Transpose::yes, y};
    product.bias = bias;
    multiply(ctx, product);
}

template <class T>
void linear_backward_input(CudaContext& ctx, CudaMatrix<const T> dy, CudaMatrix<const T> w,
                           CudaMatrix<T> dx, Into into) {
    multiply(ctx, Product<T, T>{dy, Transpose::no, w, Transpose::no, dx, 1, beta_of(into)});
}

template <class T>
void linear_backward_weight(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> dy,
                            CudaMatrix<float> dw, Into into) {
    if (x.rows == 0 && into == Into::overwrite) return fill_zero(ctx, dw);
    multiply(ctx, Product<T, float>{dy, Transpose::yes, x, Transpose::no, dw, 1, beta_of(into)});
}

template <class T>
void linear_backward_parameters(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> dy,
                                CudaMatrix<float> dw, CudaView<float> db, Into into) {
    Product<T, float> product{dy, Transpose::yes, x, Transpose::no, dw};
    product.row_sums = db;  // the product overwrites these
    if (into == Into::overwrite && is_small<T>(dy.rows, dy.cols) && can_multiply(ctx, product))
        return multiply(ctx, product);
    bias_backward<T>(ctx, dy, db, into);
    linear_backward_weight<T>(ctx, x, dy, dw, into);
}

template void linear_backward_parameters(CudaContext&, CudaMatrix<const float>,
                                         CudaMatrix<const float>, CudaMatrix<float>,
                                         CudaView<float>, Into);
template void linear_backward_parameters(CudaContext&, CudaMatrix<const bf16>,
                                         CudaMatrix<const bf16>, CudaMatrix<float>, CudaView<float>,
                                         Into);
template void linear_backward_parameters(CudaContext&, CudaMatrix<const fp16>,
                                         CudaMatrix<const fp16>, CudaMatrix<float>, CudaView<float>,
                                         Into);
template void linear_forward(CudaContext&, CudaMatrix<const float>, CudaMatrix<const float>,
                             CudaView<const float>, CudaMatrix<float>);
template void linear_forward(CudaContext&, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                             CudaView<const bf16>, CudaMatrix<bf16>);
template void linear_forward(CudaContext&, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                             CudaView<const fp16>, CudaMatrix<fp16>);
template void linear_backward_input(CudaContext&, CudaMatrix<const float>, CudaMatrix<const float>,
                                    CudaMatrix<float>, Into);
template void linear_backward_input(CudaContext&, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                                    CudaMatrix<bf16>, Into);
template void linear_backward_input(CudaContext&, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                                    CudaMatrix<fp16>, Into);
template void linear_backward_weight(CudaContext&, CudaMatrix<const float>, CudaMatrix<const float>,
                                     CudaMatrix<float>, Into);
template void linear_backward_weight(CudaContext&, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                                     CudaMatrix<float>, Into);
template void linear_backward_weight(CudaContext&, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                                     CudaMatrix<float>, Into);

}  // namespace lockstep::kernels

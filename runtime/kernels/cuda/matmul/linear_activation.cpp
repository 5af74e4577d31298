// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/relu_mask.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// Before Hopper the products of large batches lose more by a longer epilogue than a pass over the
// result costs.
constexpr int fused_from_capability = 90;

bool may_fuse(CudaContext& ctx, const ActivationSite<CudaSpace>& site) {
    if (site.dropout.active() || site.f == Activation::gelu_erf) return false;
    const Fusion fusion = ctx.cached<ProductSettings>().fusion;
    return fusion == Fusion::always ||
           (fusion == Fusion::expected &&
            ctx.properties().compute_capability >= fused_from_capability);
}

}  // namespace

template <class T>
void linear_activation_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                               CudaView<const T> bias, const ActivationSite<CudaSpace>& site,
                               CudaMatrix<T> hidden, CudaMatrix<T> y) {
    if (may_fuse(ctx, site)) {
        Product<T, T> product{x, Transpose::no, w, Transpose::yes, y};
        product.bias = bias;
        product.epilogue = site.f == Activation::relu ? Epilogue::relu : Epilogue::gelu_tanh;
        if (site.f == Activation::gelu_tanh) product.before = hidden;
        if (can_multiply(ctx, product)) return multiply(ctx, product);
    }
    linear_forward<T>(ctx, x, w, bias, hidden);
    activation_forward<T>(ctx, site.f, site.dropout, site.places, hidden, y);
}

template <class T>
void linear_activation_backward(CudaContext& ctx, CudaMatrix<const T> dz, CudaMatrix<const T> w,
                                const ActivationSite<CudaSpace>& site, CudaMatrix<const T> hidden,
                                CudaMatrix<const T> y, CudaMatrix<T> d_hidden, CudaView<float> db,
                                Into into) {
    // relu's derivative would need a mask of bits beside y, which tells as much.
    if (may_fuse(ctx, site) && site.f == Activation::gelu_tanh) {
        Product<T, T> product{dz, Transpose::no, w, Transpose::no, d_hidden};
        product.epilogue = Epilogue::gelu_tanh_backward;
        product.before = {const_cast<T*>(hidden.data), hidden.rows, hidden.cols, hidden.stride};
        if (can_multiply(ctx, product)) {
            multiply(ctx, product);
            return bias_backward<T>(ctx, d_hidden, db, into);
        }
    }
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

template <class T>
bool linear_relu_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                         CudaView<const T> bias, CudaMatrix<T> y, CudaMatrix<std::uint8_t> mask) {
    if (mask.empty() || !may_fuse(ctx, {Activation::relu, {}, {}})) return false;
    Product<T, T> product{x, Transpose::no, w, Transpose::yes, y};
    product.bias = bias;
    product.epilogue = Epilogue::relu;
    product.mask = mask;
    if (!can_multiply(ctx, product)) return false;
    multiply(ctx, product);
    return true;
}

template <class T>
bool linear_relu_backward(CudaContext& ctx, CudaMatrix<const T> dz, CudaMatrix<const T> w,
                          CudaMatrix<const std::uint8_t> mask, CudaMatrix<T> d_hidden) {
    if (mask.empty()) return false;
    Product<T, T> product{dz, Transpose::no, w, Transpose::no, d_hidden};
    product.epilogue = Epilogue::relu_backward;
    product.mask = {const_cast<std::uint8_t*>(mask.data), mask.rows, mask.cols, mask.stride};
    if (!can_multiply(ctx, product)) return false;
    multiply(ctx, product);
    return true;
}

template bool linear_relu_forward(CudaContext&, CudaMatrix<const float>, CudaMatrix<const float>,
                                  CudaView<const float>, CudaMatrix<float>,
                                  CudaMatrix<std::uint8_t>);
template bool linear_relu_forward(CudaContext&, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                                  CudaView<const bf16>, CudaMatrix<bf16>, CudaMatrix<std::uint8_t>);
template bool linear_relu_forward(CudaContext&, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                                  CudaView<const fp16>, CudaMatrix<fp16>, CudaMatrix<std::uint8_t>);
template bool linear_relu_backward(CudaContext&, CudaMatrix<const float>, CudaMatrix<const float>,
                                   CudaMatrix<const std::uint8_t>, CudaMatrix<float>);
template bool linear_relu_backward(CudaContext&, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                                   CudaMatrix<const std::uint8_t>, CudaMatrix<bf16>);
template bool linear_relu_backward(CudaContext&, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                                   CudaMatrix<const std::uint8_t>, CudaMatrix<fp16>);
template void linear_activation_forward(CudaContext&, CudaMatrix<const float>,
                                        CudaMatrix<const float>, CudaView<const float>,
                                        const ActivationSite<CudaSpace>&, CudaMatrix<float>,
                                        CudaMatrix<float>);
template void linear_activation_forward(CudaContext&, CudaMatrix<const bf16>,
                                        CudaMatrix<const bf16>, CudaView<const bf16>,
                                        const ActivationSite<CudaSpace>&, CudaMatrix<bf16>,
                                        CudaMatrix<bf16>);
template void linear_activation_forward(CudaContext&, CudaMatrix<const fp16>,
                                        CudaMatrix<const fp16>, CudaView<const fp16>,
                                        const ActivationSite<CudaSpace>&, CudaMatrix<fp16>,
                                        CudaMatrix<fp16>);
template void linear_activation_backward(CudaContext&, CudaMatrix<const float>,
                                         CudaMatrix<const float>, const ActivationSite<CudaSpace>&,
                                         CudaMatrix<const float>, CudaMatrix<const float>,
                                         CudaMatrix<float>, CudaView<float>, Into);
template void linear_activation_backward(CudaContext&, CudaMatrix<const bf16>,
                                         CudaMatrix<const bf16>, const ActivationSite<CudaSpace>&,
                                         CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                                         CudaMatrix<bf16>, CudaView<float>, Into);
template void linear_activation_backward(CudaContext&, CudaMatrix<const fp16>,
                                         CudaMatrix<const fp16>, const ActivationSite<CudaSpace>&,
                                         CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                                         CudaMatrix<fp16>, CudaView<float>, Into);

}  // namespace lockstep::kernels

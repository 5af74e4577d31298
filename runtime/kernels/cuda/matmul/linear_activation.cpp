// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/relu_mask.hpp"
#include "runtime/kernels/separate_activation.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// GPUs before Hopper lose more by a longer epilogue of a large batch's products than a pass over
// the result costs.
constexpr int fused_from_capability = 90;

bool may_fuse(CudaContext& ctx, const ActivationSite<CudaSpace>& site) {
    const bool has_epilogue = site.f == Activation::relu || site.f == Activation::gelu_tanh;
    if (site.dropout.active() || !has_epilogue) return false;
    const Fusion fusion = ctx.cached<ProductSettings>().fusion;
    return fusion == Fusion::always ||
           (fusion == Fusion::expected &&
            ctx.properties().compute_capability >= fused_from_capability);
}

}  // namespace

template <class T>
void linear_activation_forward(CudaContext& ctx, const LinearActivationForward<T, CudaSpace>& o) {
    if (may_fuse(ctx, o.site)) {
        Product<T, T> product{o.x, Transpose::no, o.w, Transpose::yes, o.y};
        product.bias = o.bias;
        product.epilogue = o.site.f == Activation::relu ? Epilogue::relu : Epilogue::gelu_tanh;
        if (o.site.f == Activation::gelu_tanh) product.before = o.hidden;
        if (can_multiply(ctx, product)) return multiply(ctx, product);
    }
    separate_activation_forward(ctx, o);
}

template <class T>
void linear_activation_backward(CudaContext& ctx, const LinearActivationBackward<T, CudaSpace>& o) {
    // relu's derivative would need a mask of bits beside y, which tells as much.
    if (may_fuse(ctx, o.site) && o.site.f == Activation::gelu_tanh && !o.hidden.empty()) {
        Product<T, T> product{o.dz, Transpose::no, o.w, Transpose::no, o.d_hidden};
        product.epilogue = Epilogue::gelu_tanh_backward;
        product.before = {const_cast<T*>(o.hidden.data), o.hidden.rows, o.hidden.cols,
                          o.hidden.stride};
        if (can_multiply(ctx, product)) {
            multiply(ctx, product);
            return bias_backward<T>(ctx, o.d_hidden, o.db, o.into);
        }
    }
    separate_activation_backward(ctx, o);
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
template void linear_activation_forward(CudaContext&,
                                        const LinearActivationForward<float, CudaSpace>&);
template void linear_activation_forward(CudaContext&,
                                        const LinearActivationForward<bf16, CudaSpace>&);
template void linear_activation_forward(CudaContext&,
                                        const LinearActivationForward<fp16, CudaSpace>&);
template void linear_activation_backward(CudaContext&,
                                         const LinearActivationBackward<float, CudaSpace>&);
template void linear_activation_backward(CudaContext&,
                                         const LinearActivationBackward<bf16, CudaSpace>&);
template void linear_activation_backward(CudaContext&,
                                         const LinearActivationBackward<fp16, CudaSpace>&);

}  // namespace lockstep::kernels

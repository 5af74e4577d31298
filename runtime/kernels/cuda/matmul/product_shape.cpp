// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/matmul/product_shape.hpp"

#include <algorithm>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

namespace lockstep::kernels::cuda {

namespace {

std::uint8_t alignment_of(const void* address) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | max_alignment;
    return static_cast<std::uint8_t>(bits & (~bits + 1));
}

bool is_backward(Epilogue epilogue) noexcept {
    return epilogue == Epilogue::relu_backward || epilogue == Epilogue::gelu_tanh_backward;
}

template <class In, class Out>
void require_factors_fit(const Product<In, Out>& p) {
    const bool a_as_is = p.transpose_a == Transpose::no, b_as_is = p.transpose_b == Transpose::no;
    require((a_as_is ? p.a.rows : p.a.cols) == p.c.rows &&
                (b_as_is ? p.b.cols : p.b.rows) == p.c.cols &&
                (a_as_is ? p.a.cols : p.a.rows) == (b_as_is ? p.b.rows : p.b.cols),
            "product: shapes differ");
}

template <class In, class Out>
void require_epilogue_fits(const Product<In, Out>& p) {
    const auto cols = static_cast<std::size_t>(p.c.cols), rows = static_cast<std::size_t>(p.c.rows);
    require(p.bias.empty() || (p.bias.size() == cols && dtype_of<In> == dtype_of<Out>),
            "product: the bias has another size or type");
    require(p.row_sums.empty() || (p.row_sums.size() == rows && p.transpose_a == Transpose::yes &&
                                   p.epilogue == Epilogue::none && p.bias.empty()),
            "product: sums over rows go with a transposed factor and nothing else");
    const bool gelu =
        p.epilogue == Epilogue::gelu_tanh || p.epilogue == Epilogue::gelu_tanh_backward;
    const bool relu = p.epilogue == Epilogue::relu || p.epilogue == Epilogue::relu_backward;
    require(p.before.empty() || (gelu && p.before.rows == p.c.rows && p.before.cols == p.c.cols),
            "product: what gelu is applied to has another shape");
    require(p.mask.empty() || (relu && p.mask.rows == p.c.rows && p.mask.stride % 16 == 0 &&
                               8 * p.mask.stride >= p.c.cols),
            "product: relu's mask has another shape");
    require(!is_backward(p.epilogue) || !p.before.empty() || !p.mask.empty(),
            "product: a derivative needs what the activation was applied to");
}

}  // namespace

template <class In, class Out>
ProductShape shape_of(const Product<In, Out>& p, const ProductSettings& settings) {
    require_factors_fit(p);
    require_epilogue_fits(p);
    const ProductOperands at = operands_of(p);
    const bool has_aux = at.aux != nullptr;
    ProductShape shape{};
    shape.in = dtype_of<In>;
    shape.out = dtype_of<Out>;
    shape.transpose_a = p.transpose_a;
    shape.transpose_b = p.transpose_b;
    shape.m = p.c.rows;
    shape.n = p.c.cols;
    shape.k = p.transpose_a == Transpose::no ? p.a.cols : p.a.rows;
    shape.a_stride = p.a.stride;
    shape.b_stride = p.b.stride;
    shape.c_stride = p.c.stride;
    shape.epilogue = p.epilogue;
    shape.beside = !p.bias.empty()       ? Beside::bias
                   : !p.row_sums.empty() ? Beside::row_sums
                                         : Beside::nothing;
    shape.has_aux = has_aux;
    shape.aux_stride = !p.before.empty() ? p.before.stride : 8 * p.mask.stride;
    shape.accumulates = p.beta != 0;
    shape.tf32 = dtype_of<In> == Dtype::fp32 && settings.tf32;
    shape.multiprocessors = settings.multiprocessors;
    shape.a_alignment = alignment_of(at.a);
    shape.b_alignment = alignment_of(at.b);
    shape.c_alignment = alignment_of(at.c);
    shape.beside_alignment = alignment_of(at.beside);
    shape.aux_alignment = alignment_of(at.aux);
    return shape;
}

template <class In, class Out>
ProductOperands operands_of(const Product<In, Out>& p) noexcept {
    const void* beside = p.bias.data();
    if (!p.row_sums.empty()) beside = p.row_sums.data();
    void* aux = p.before.data;
    if (!p.mask.empty()) aux = p.mask.data;
    return {p.a.data, p.b.data, p.c.data, beside, aux, p.alpha, p.beta};
}

template ProductShape shape_of(const Product<float, float>&, const ProductSettings&);
template ProductShape shape_of(const Product<bf16, bf16>&, const ProductSettings&);
template ProductShape shape_of(const Product<bf16, float>&, const ProductSettings&);
template ProductShape shape_of(const Product<fp16, fp16>&, const ProductSettings&);
template ProductShape shape_of(const Product<fp16, float>&, const ProductSettings&);
template ProductOperands operands_of(const Product<float, float>&) noexcept;
template ProductOperands operands_of(const Product<bf16, bf16>&) noexcept;
template ProductOperands operands_of(const Product<bf16, float>&) noexcept;
template ProductOperands operands_of(const Product<fp16, fp16>&) noexcept;
template ProductOperands operands_of(const Product<fp16, float>&) noexcept;

}  // namespace lockstep::kernels::cuda

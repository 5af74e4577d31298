// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "runtime/core/dtype.hpp"
#include "runtime/kernels/cuda/matmul/product.hpp"

namespace lockstep::kernels::cuda {

// The vector that a product uses in addition to its three matrices.
enum class Beside : std::uint8_t { nothing, bias, row_sums };

// All properties of a product except its addresses and scalar factors: products of equal shape run
// the same algorithm. Matrices are row-major as in Product. Strides are in elements, the mask's in
// bits.
struct ProductShape {
    Dtype in, out;
    Transpose transpose_a, transpose_b;
    std::int64_t m, n, k;
    std::int64_t a_stride, b_stride, c_stride;
    Epilogue epilogue;
    Beside beside;
    bool has_aux;  // before or mask
    std::int64_t aux_stride;
    bool accumulates, tf32;
    std::int32_t multiprocessors;
    // These are powers of two that divide the addresses, at most max_alignment.
    std::uint8_t a_alignment, b_alignment, c_alignment, beside_alignment, aux_alignment;

    auto operator<=>(const ProductShape&) const = default;
};

// This is the arena's alignment. A larger value would distinguish products that differ only in
// their address in the arena.
constexpr std::uintptr_t max_alignment = 64;

// The addresses and scalar factors that go with a shape.
struct ProductOperands {
    const void *a, *b;
    void* c;
    const void* beside;
    void* aux;
    float alpha, beta;
};

// Throws a contract error if sizes do not match.
template <class In, class Out>
ProductShape shape_of(const Product<In, Out>& product, const ProductSettings& settings);
template <class In, class Out>
ProductOperands operands_of(const Product<In, Out>& product) noexcept;

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::kernels::cuda {

enum class Transpose : std::uint8_t { no, yes };

// The operation on alpha op(A) op(B) + beta C + bias before it is written. The backward ones
// multiply it by the activation's derivative.
enum class Epilogue : std::uint8_t { none, relu, gelu_tanh, relu_backward, gelu_tanh_backward };

// Describes C [m, n] = epilogue(alpha op(A) [m, k] op(B) [k, n] + beta C + bias [n]). All matrices
// are row-major with strided rows; sums are in fp32. An empty bias adds nothing; with a bias, Out
// must be In. The product runs on the context's stream. In is float, bf16 or fp16; Out is In or
// float.
template <class In, class Out>
struct Product {
    CudaMatrix<const In> a;
    Transpose transpose_a;
    CudaMatrix<const In> b;
    Transpose transpose_b;
    CudaMatrix<Out> c;
    float alpha = 1, beta = 0;
    CudaView<const In> bias = {};
    Epilogue epilogue = Epilogue::none;
    // gelu_tanh writes its input here, unless empty; gelu_tanh_backward reads it.
    CudaMatrix<Out> before = {};
    // relu writes here which values it let through, unless empty; relu_backward reads it. A value
    // takes one bit, and a row takes relu_mask_stride(n) bytes.
    CudaMatrix<std::uint8_t> mask = {};
    // The sums over A's rows are written here, unless empty. They are the gradient of a bias if A
    // is the gradient of the value that the bias was added to. Requires Epilogue::none and a
    // transposed A.
    CudaView<Out> row_sums = {};
};

// Returns the bytes of a row of a mask for `cols` values; cuBLASLt needs rows of whole 128 bits.
constexpr std::int64_t relu_mask_stride(std::int64_t cols) { return (cols + 127) / 128 * 16; }

// Says which of the functions that can compute more in the product's own kernel do so. `expected`:
// only if that is expected to be faster.
enum class Fusion : std::uint8_t { expected, always, never };

// A context's settings for products: ctx.cached<ProductSettings>(). They must be set before the
// first product.
struct ProductSettings {
    // If set, fp32 factors are rounded to TF32's 10 bits for the tensor cores; sums stay fp32.
    bool tf32 = false;
    // If set, the first product of a shape measures several algorithms and keeps the fastest;
    // otherwise products use the one that cuBLASLt expects to be the fastest. Measured choices, and
    // with them the last bits, may differ from run to run.
    bool autotune = false;
    Fusion fusion = Fusion::expected;
    int multiprocessors = 0;  // number that products are planned for; 0: all
};

template <class In, class Out>
void multiply(device::CudaContext& ctx, const Product<In, Out>& product);

// Returns whether multiply() can compute the product. If only the epilogue or a matrix beside C
// prevents it, the product without them can always be computed.
template <class In, class Out>
bool can_multiply(device::CudaContext& ctx, const Product<In, Out>& product);

}  // namespace lockstep::kernels::cuda

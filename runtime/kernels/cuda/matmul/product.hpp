// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::kernels::cuda {

enum class Transpose : std::uint8_t { no, yes };

// What happens to alpha op(A) op(B) + beta C + bias before it is written. The backward ones
// multiply it by the activation's derivative.
enum class Epilogue : std::uint8_t { none, relu, gelu_tanh, relu_backward, gelu_tanh_backward };

// C [m, n] = epilogue(alpha op(A) [m, k] op(B) [k, n] + beta C + bias [n]), all row-major, rows
// strided; sums in fp32. An empty bias adds nothing; where there is one, Out is In. Runs on the
// context's stream. For In in {float, bf16, fp16} and Out in {In, float}.
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
    // gelu_tanh writes here what it was applied to, unless empty; gelu_tanh_backward reads it.
    CudaMatrix<Out> before = {};
    // relu writes here which values it let through, unless empty; relu_backward reads it. One bit
    // for each, relu_mask_stride(n) bytes a row.
    CudaMatrix<std::uint8_t> mask = {};
    // With Epilogue::none and a transposed A, the sums over A's rows are written here, unless
    // empty: the gradient of a bias where A is the gradient of what it was added to.
    CudaView<Out> row_sums = {};
};

// cuBLASLt wants rows of 128 bits.
constexpr std::int64_t relu_mask_stride(std::int64_t cols) { return (cols + 127) / 128 * 16; }

// Which of the functions that can compute more in the product's own kernel do so. Expected: where
// it is expected to be faster.
enum class Fusion : std::uint8_t { expected, always, never };

// How a context multiplies: ctx.cached<ProductSettings>(), to be set before the first product.
struct ProductSettings {
    // fp32 factors are rounded to TF32's 10 bits for the tensor cores; sums stay fp32.
    bool tf32 = false;
    // The first product of a shape runs the fastest of several algorithms as measured, else the one
    // that cuBLASLt expects to be it. Measured choices may differ from run to run, and with them
    // the last bits.
    bool autotune = false;
    Fusion fusion = Fusion::expected;
    int multiprocessors = 0;  // that products are planned for; 0: all
};

template <class In, class Out>
void multiply(device::CudaContext& ctx, const Product<In, Out>& product);

// Whether multiply() can compute it; where only the epilogue or a matrix beside C is in the way,
// the same without them can always be computed.
template <class In, class Out>
bool can_multiply(device::CudaContext& ctx, const Product<In, Out>& product);

}  // namespace lockstep::kernels::cuda

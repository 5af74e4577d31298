// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/view.hpp"
#include "runtime/device/cuda_context.hpp"

namespace lockstep::kernels::cuda {

enum class Transpose { no, yes };

// What happens to op(A) op(B) + bias before it is written.
enum class Epilogue { none, relu, gelu_tanh };

// C [m, n] = epilogue(alpha op(A) [m, k] op(B) [k, n] + beta C + bias [n]), all row-major, rows
// strided; sums in fp32. An empty bias adds nothing. Runs on the context's stream.
// For In in {float, bf16, fp16} and Out in {In, float}.
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
};

template <class In, class Out>
void multiply(device::CudaContext& ctx, const Product<In, Out>& product);

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/kernels/cuda/matmul/cublas_lt.hpp"
#include "runtime/kernels/cuda/matmul/product_shape.hpp"
#include "runtime/kernels/cuda/matmul/product_workspace.hpp"

namespace lockstep::kernels::cuda {

// A shape in cuBLASLt's words, and the algorithm that runs it. cuBLASLt is column-major, which
// makes of row-major matrices their transposes: C = A B is computed as C^T = B^T A^T, so A and B
// change places and strides are leading dimensions.
struct ProductPlan {
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t first, second, result;
    cublasLtMatmulAlgo_t algorithm;
    cublasStatus_t found;  // anything but success: there is no algorithm
};

// Descriptions only; no algorithm.
ProductPlan describe(const CublasLt& library, const ProductShape& shape);

// The `most` algorithms that cuBLASLt expects to be fastest, best first. Empty where it has none,
// with the reason in plan.found.
std::vector<cublasLtMatmulAlgo_t> candidates(const CublasLt& library, const ProductShape& shape,
                                             const ProductOperands& at, ProductPlan& plan,
                                             int most);

// Queues the product with plan.algorithm; the result goes to `to`, which may be at.c. try_run says
// whether the algorithm can do that, run throws where it cannot.
cublasStatus_t try_run(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
                       const ProductOperands& at, void* to);
void run(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
         const ProductOperands& at, void* to);

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/kernels/cuda/matmul/cublas_lt.hpp"
#include "runtime/kernels/cuda/matmul/product_shape.hpp"
#include "runtime/kernels/cuda/matmul/product_workspace.hpp"

namespace lockstep::kernels::cuda {

// A shape in cuBLASLt's terms, and the algorithm that runs it. cuBLASLt is column-major, so
// row-major matrices are their transposes to it: C = A B is computed as C^T = B^T A^T. Thus A and B
// are swapped, and strides are leading dimensions.
struct ProductPlan {
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t first, second, result;
    cublasLtMatmulAlgo_t algorithm;
    cublasStatus_t found;  // anything but success: there is no algorithm
};

// Returns the descriptions, but no algorithm yet.
ProductPlan describe(const CublasLt& library, const ProductShape& shape);

// Returns at most `max_algorithms` algorithms, those that cuBLASLt expects to be the fastest, best
// first. Returns nothing if it has none, with the reason in plan.found.
std::vector<cublasLtMatmulAlgo_t> candidates(const CublasLt& library, const ProductShape& shape,
                                             const ProductOperands& at, ProductPlan& plan,
                                             int max_algorithms);

// Queues the product with plan.algorithm. The result goes to `to`, which may be at.c. try_run
// returns whether the algorithm can do that; run throws if it cannot.
cublasStatus_t try_run(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
                       const ProductOperands& at, void* to);
void run(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
         const ProductOperands& at, void* to);

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "runtime/kernels/cuda/matmul/product_plan.hpp"

namespace lockstep::kernels::cuda {

// The plans of a context, by shape: searched at the first product of a shape, since a search takes
// longer than a small product.
class ProductPlans {
public:
    // Valid until the context ends. Where settings say so and the stream is not being captured,
    // candidates are run and timed: at.c is as it was afterwards, unless the product overwrites it.
    ProductPlan& of(device::CudaContext& ctx, const ProductShape& shape, const ProductOperands& at,
                    const ProductSettings& settings);
    const CublasLt& library() const noexcept { return library_; }

private:
    CublasLt library_;
    std::map<ProductShape, ProductPlan> plans_;
};

}  // namespace lockstep::kernels::cuda

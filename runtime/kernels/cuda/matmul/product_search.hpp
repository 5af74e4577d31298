// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "runtime/kernels/cuda/matmul/product_plan.hpp"

namespace lockstep::kernels::cuda {

// A context's plans by shape. A plan is searched at the first product of a shape only, since a
// search takes longer than a small product.
class ProductPlans {
public:
    // Returns a reference that is valid until the context ends. If the settings ask for it and the
    // stream is not being captured, candidates are run and timed. They leave at.c as it was, unless
    // the product overwrites it.
    ProductPlan& of(device::CudaContext& ctx, const ProductShape& shape, const ProductOperands& at,
                    const ProductSettings& settings);
    const CublasLt& library() const noexcept { return library_; }

private:
    CublasLt library_;
    std::map<ProductShape, ProductPlan> plans_;
};

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/matmul/product_search.hpp"

#include <limits>

#include "runtime/kernels/cuda/matmul/timing.hpp"

namespace lockstep::kernels::cuda {

namespace {

constexpr int max_candidates = 16;

void choose_by_time(device::CudaContext& ctx, const CublasLt& library, const ProductShape& shape,
                    const ProductOperands& at, const std::vector<cublasLtMatmulAlgo_t>& algorithms,
                    ProductPlan& plan) {
    // A product that adds to C would add once for each run, so it writes elsewhere.
    device::Buffer<std::byte, CudaSpace> elsewhere(
        shape.accumulates ? static_cast<std::size_t>(shape.m * shape.c_stride) * bytes_of(shape.out)
                          : 0);
    void* to = shape.accumulates ? elsewhere.view().data() : at.c;
    float best = std::numeric_limits<float>::infinity();
    cublasLtMatmulAlgo_t chosen = algorithms.front();
    for (const auto& algorithm : algorithms) {
        plan.algorithm = algorithm;
        // Some algorithms cannot write to another matrix than C.
        if (try_run(ctx, library, plan, at, to) != CUBLAS_STATUS_SUCCESS) continue;
        const float time = milliseconds_of(ctx, [&] { run(ctx, library, plan, at, to); });
        if (time >= best) continue;
        best = time;
        chosen = algorithm;
    }
    plan.algorithm = chosen;
}

}  // namespace

ProductPlan& ProductPlans::of(device::CudaContext& ctx, const ProductShape& shape,
                              const ProductOperands& at, const ProductSettings& settings) {
    if (const auto known = plans_.find(shape); known != plans_.end()) return known->second;
    ProductPlan plan = describe(library_, shape);
    const bool by_time = settings.autotune && !device::is_captured(ctx.stream());
    const auto algorithms = candidates(library_, shape, at, plan, by_time ? max_candidates : 1);
    if (!algorithms.empty()) plan.algorithm = algorithms.front();
    if (algorithms.size() > 1) choose_by_time(ctx, library_, shape, at, algorithms, plan);
    return plans_.emplace(shape, plan).first->second;
}

}  // namespace lockstep::kernels::cuda

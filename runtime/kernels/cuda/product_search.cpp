// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/product_search.hpp"

#include <limits>

namespace lockstep::kernels::cuda {

namespace {

constexpr int most_candidates = 16, timed_runs = 5;

std::size_t bytes_of(Element element) { return element == Element::f32 ? 4 : 2; }

// In milliseconds, after one run that loads the kernel.
float time_of(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
              const ProductOperands& at, void* to) {
    const device::Event begin = device::make_event(device::Timing::on);
    const device::Event end = device::make_event(device::Timing::on);
    run(ctx, library, plan, at, to);
    device::check(cudaEventRecord(begin.raw(), ctx.stream()), "cudaEventRecord");
    for (int i = 0; i < timed_runs; ++i) run(ctx, library, plan, at, to);
    device::check(cudaEventRecord(end.raw(), ctx.stream()), "cudaEventRecord");
    device::check(cudaEventSynchronize(end.raw()), "cudaEventSynchronize");
    float milliseconds = 0;
    device::check(cudaEventElapsedTime(&milliseconds, begin.raw(), end.raw()),
                  "cudaEventElapsedTime");
    return milliseconds;
}

void choose_by_time(device::CudaContext& ctx, const CublasLt& library, const ProductShape& shape,
                    const ProductOperands& at, const std::vector<cublasLtMatmulAlgo_t>& algorithms,
                    ProductPlan& plan) {
    // A product that adds to C would add once for each run.
    device::Buffer<std::byte, CudaSpace> elsewhere(
        shape.accumulates ? static_cast<std::size_t>(shape.m * shape.c_stride) * bytes_of(shape.out)
                          : 0);
    void* to = shape.accumulates ? elsewhere.view().data() : at.c;
    float best = std::numeric_limits<float>::infinity();
    cublasLtMatmulAlgo_t chosen = algorithms.front();
    for (const auto& algorithm : algorithms) {
        plan.algorithm = algorithm;
        const float time = time_of(ctx, library, plan, at, to);
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
    const auto algorithms = candidates(library_, shape, at, plan, by_time ? most_candidates : 1);
    if (!algorithms.empty()) plan.algorithm = algorithms.front();
    if (algorithms.size() > 1) choose_by_time(ctx, library_, shape, at, algorithms, plan);
    return plans_.emplace(shape, plan).first->second;
}

}  // namespace lockstep::kernels::cuda

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/matmul/product.hpp"

#include <string>
#include <utility>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/kernels/company.hpp"
#include "runtime/kernels/cuda/matmul/product_search.hpp"

namespace lockstep::kernels::cuda {

namespace {

[[noreturn]] void throw_no_algorithm(const ProductShape& shape, const std::string& reason) {
    throw Error(ErrorKind::cuda,
                "cuBLASLt has no algorithm for a product of [" + std::to_string(shape.m) + ", " +
                    std::to_string(shape.k) + "] and [" + std::to_string(shape.k) + ", " +
                    std::to_string(shape.n) + "] with rows of " + std::to_string(shape.a_stride) +
                    ", " + std::to_string(shape.b_stride) + " and " +
                    std::to_string(shape.c_stride) + " elements: " + reason);
}

}  // namespace

template <class In, class Out>
void multiply(device::CudaContext& ctx, const Product<In, Out>& product) {
    const auto& settings = ctx.cached<ProductSettings>();
    const ProductShape shape = shape_of(product, settings);
    if (shape.m == 0 || shape.n == 0) return;
    if (shape.k == 0) {  // an empty batch adds nothing
        require(product.beta == 1 && shape.beside == Beside::nothing,
                "product: nothing to multiply");
        return;
    }
    auto& plans = ctx.cached<ProductPlans>();
    const ProductOperands at = operands_of(product);
    ProductPlan& plan = plans.of(ctx, shape, at, settings);
    if (plan.found != CUBLAS_STATUS_SUCCESS)
        throw_no_algorithm(shape, plans.library().name_of(plan.found));
    run(ctx, plans.library(), plan, at, at.c);
}

template <class In, class Out>
bool can_multiply(device::CudaContext& ctx, const Product<In, Out>& product) {
    const auto& settings = ctx.cached<ProductSettings>();
    const ProductShape shape = shape_of(product, settings);
    if (shape.m == 0 || shape.n == 0 || shape.k == 0) return false;
    return ctx.cached<ProductPlans>().of(ctx, shape, operands_of(product), settings).found ==
           CUBLAS_STATUS_SUCCESS;
}

template void multiply(device::CudaContext&, const Product<float, float>&);
template void multiply(device::CudaContext&, const Product<bf16, bf16>&);
template void multiply(device::CudaContext&, const Product<bf16, float>&);
template void multiply(device::CudaContext&, const Product<fp16, fp16>&);
template void multiply(device::CudaContext&, const Product<fp16, float>&);
template bool can_multiply(device::CudaContext&, const Product<float, float>&);
template bool can_multiply(device::CudaContext&, const Product<bf16, bf16>&);
template bool can_multiply(device::CudaContext&, const Product<bf16, float>&);
template bool can_multiply(device::CudaContext&, const Product<fp16, fp16>&);
template bool can_multiply(device::CudaContext&, const Product<fp16, float>&);

}  // namespace lockstep::kernels::cuda

namespace lockstep::kernels {

void plan_products_for(CudaContext& ctx, Company company) {
    const device::GpuProperties& gpu = ctx.properties();
    const bool shared = company == Company::collectives && gpu.for_collectives() > 0;
    ctx.cached<cuda::ProductSettings>().multiprocessors =
        shared ? gpu.multiprocessors - gpu.for_collectives() : 0;
}

ProductsOfForward<CudaContext>::ProductsOfForward(CudaContext& ctx)
    : ctx_(ctx), before_(std::exchange(ctx.cached<cuda::ProductSettings>().multiprocessors, 0)) {}

ProductsOfForward<CudaContext>::~ProductsOfForward() {
    ctx_.cached<cuda::ProductSettings>().multiprocessors = before_;
}

}  // namespace lockstep::kernels

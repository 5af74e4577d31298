// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Says which work the device does at the same time as the kernels of a context.
enum class Company { none, collectives };

// Plans the products that are queued from now on for the part of the device that collectives leave
// free, or for the whole device. The plan may change the last bits of their sums.
inline void plan_products_for(CpuContext&, Company) {}
void plan_products_for(CudaContext& ctx, Company company);

// While an object exists, products are planned for the whole device as in forward; then they are
// planned as before. Backward that calculates values of forward again needs this to get the same
// bits.
template <class Ctx>
class ProductsOfForward {  // the CPU has one plan
public:
    explicit ProductsOfForward(Ctx&) {}
};

template <>
class ProductsOfForward<CudaContext> {
public:
    explicit ProductsOfForward(CudaContext& ctx);
    ~ProductsOfForward();
    ProductsOfForward(const ProductsOfForward&) = delete;
    ProductsOfForward& operator=(const ProductsOfForward&) = delete;

private:
    CudaContext& ctx_;
    int before_;  // number of multiprocessors
};

}  // namespace lockstep::kernels

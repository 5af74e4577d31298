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

}  // namespace lockstep::kernels

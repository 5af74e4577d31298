// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// The work of a device beside the kernels of its context.
enum class Company { none, collectives };

// Products that are queued from now on are planned for the part of the device that collectives
// leave, or for all of it. Their sums may have other last bits.
inline void plan_products_for(CpuContext&, Company) {}
void plan_products_for(CudaContext& ctx, Company company);

}  // namespace lockstep::kernels

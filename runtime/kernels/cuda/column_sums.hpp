// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/launch.hpp"

namespace lockstep::kernels::cuda {

// totals[j] += the sum of column j of parts, in a fixed order.
void add_parts_by_column(device::CudaContext& ctx, CudaMatrix<const float> parts,
                         CudaView<float> totals);

}  // namespace lockstep::kernels::cuda

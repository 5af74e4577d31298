// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"

namespace lockstep::kernels {

using device::CpuContext;

// In fp64, summed in fixed blocks so that the value does not depend on the number of threads.
double sum_of_squares(CpuContext& ctx, HostView<const float> x);
std::int64_t count_nonfinite(CpuContext& ctx, HostView<const float> x);

void fill_zero(CpuContext& ctx, HostView<float> x);

// to = from, rounded to nearest even. Instantiated for <float, bf16>, <bf16, float>, <float, float>.
template <class From, class To>
void cast(CpuContext& ctx, HostView<const From> from, HostView<To> to);

}  // namespace lockstep::kernels

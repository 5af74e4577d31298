// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/exact_sum.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Returns the sum in fp64. It is made of fixed blocks, so the value does not depend on the number
// of threads.
double sum_of_squares(CpuContext& ctx, HostView<const float> x);
std::int64_t count_nonfinite(CpuContext& ctx, HostView<const float> x);

// These functions add to the one element of `total`. The host reads it when it likes. Each cell of
// square_cell elements from the first one on is an addend of an exact sum. The bits do not depend
// on the number of threads.
void add_sum_of_squares(CpuContext& ctx, HostView<const float> x, HostView<ExactSum> total);
void add_count_nonfinite(CpuContext& ctx, HostView<const float> x, HostView<std::int64_t> total);
void add_sum_of_squares(CudaContext& ctx, CudaView<const float> x, CudaView<ExactSum> total);
void add_count_nonfinite(CudaContext& ctx, CudaView<const float> x, CudaView<std::int64_t> total);

// Allocates the device memory that these functions need for this many elements. Otherwise the first
// call allocates it, and an allocation waits for all queued work, including work that waits for
// other ranks.
void reserve_sums(CpuContext& ctx, std::size_t elements);
void reserve_sums(CudaContext& ctx, std::size_t elements);

void fill_zero(CpuContext& ctx, HostView<float> x);
void fill_zero(CudaContext& ctx, CudaView<float> x);
// Requires that the matrix has no gaps between its rows.
template <class Ctx>
void fill_zero(Ctx& ctx, MatrixView<float, typename Ctx::Space> x) {
    require(x.stride == x.cols, "fill_zero: there are gaps between the rows");
    fill_zero(ctx, View<float, typename Ctx::Space>(x.data, static_cast<std::size_t>(x.rows) *
                                                                static_cast<std::size_t>(x.cols)));
}

// Converts `from` to the type of `to`, rounded to nearest even. Instantiated for <float, bf16>,
// <float, fp16>, <bf16, float> and <float, float>; on GPUs also for <fp16, float>.
template <class From, class To>
void cast(CpuContext& ctx, HostView<const From> from, HostView<To> to);
template <class From, class To>
void cast(CudaContext& ctx, CudaView<const From> from, CudaView<To> to);

}  // namespace lockstep::kernels

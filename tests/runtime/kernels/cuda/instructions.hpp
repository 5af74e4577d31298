// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::tests {

// c [16, 8] = a [16, 16] b [16, 8] by one warp: asynchronous copies, load_matrices and
// multiply_16_8_16. b is given as it is, or transposed as [8, 16].
enum class Stored { as_is, transposed };
template <class T>
void multiply_by_warp(device::CudaContext& ctx, CudaView<const T> a, CudaView<const T> b,
                      Stored b_stored, CudaView<float> c);

// y = 2^x, by power_of_2 and store4.
void powers_of_2(device::CudaContext& ctx, CudaView<const float> x, CudaView<float> y);

// y = 1 / x, by fast_inverse.
void inverses(device::CudaContext& ctx, CudaView<const float> x, CudaView<float> y);

}  // namespace lockstep::tests

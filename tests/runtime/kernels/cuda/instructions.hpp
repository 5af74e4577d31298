// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::tests {

// Computes c [16, 8] = a [16, 16] b [16, 8] by one warp with asynchronous copies, load_matrices and
// multiply_16_8_16. b is given as it is, or transposed as [8, 16].
enum class Stored { as_is, transposed };
template <class T>
void multiply_by_warp(device::CudaContext& ctx, CudaView<const T> a, CudaView<const T> b,
                      Stored b_stored, CudaView<float> c);

// Computes y = 2^x with power_of_2 and store4.
void powers_of_2(device::CudaContext& ctx, CudaView<const float> x, CudaView<float> y);

// Computes y = 1 / x with fast_inverse.
void inverses(device::CudaContext& ctx, CudaView<const float> x, CudaView<float> y);

}  // namespace lockstep::tests

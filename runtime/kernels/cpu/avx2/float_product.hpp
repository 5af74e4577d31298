// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/cpu/avx2/float_panels.hpp"

// Matrix products of floats for processors with AVX2 and without AVX-512, which come faster than by
// oneDNN 2.6 (docs/journal/performance.md). No element of a result depends on the number of threads
// or on how many other rows and columns are calculated with it.
namespace lockstep::kernels::cpu::avx2 {

// Returns whether this code is the one to use: AVX2 is the best that oneDNN may use here
// (DNNL_MAX_CPU_ISA). Other functions need has_instructions() alone.
bool usable() noexcept;

// Describes c [m, n] = or += a [m, k] * b [k, n] + bias [n], without a bias if it is null. The
// outer dimensions of a and b are c's rows and columns. All three dimensions have one element or
// more. c overlaps nothing else.
struct FloatProduct {
    FloatFactor a, b;
    const float* bias;
    Into into;
    HostMatrix<float> c;
};

// Returns whether the product is large enough that packing the factors takes little time beside it.
bool suits(const FloatProduct& product) noexcept;

// Calculates the product, also where it does not suit. Uses the slot Slot::packed.
void multiply(device::CpuContext& ctx, const FloatProduct& product);

}  // namespace lockstep::kernels::cpu::avx2

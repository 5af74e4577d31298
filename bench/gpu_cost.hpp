// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/train/parameters.hpp"

namespace lockstep::bench {

// Returns the rate that product_ceiling() defines, for a GPU. `gpu` is its number among the GPUs
// that the process sees.
double gpu_product_ceiling(int gpu, train::Precision precision);

// Returns the bytes in use by all processes, including CUDA's own.
std::int64_t gpu_bytes_in_use(int gpu);

}  // namespace lockstep::bench

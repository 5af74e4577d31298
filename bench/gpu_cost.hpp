// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/train/parameters.hpp"

namespace lockstep::bench {

// As product_ceiling(), of a GPU by its number among those that the process sees.
double gpu_product_ceiling(int gpu, train::Precision precision);

// Of all processes, with what CUDA itself keeps.
std::int64_t gpu_bytes_in_use(int gpu);

}  // namespace lockstep::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/train/options.hpp"
#include "runtime/train/parameter_table.hpp"

namespace lockstep::train {

// Returns the bytes of the state that an optimizer keeps of all parameters, which a checkpoint
// holds. It makes the optimizer, on a device without memory.
std::size_t state_bytes(const OptimizerOptions& options, ParameterTable table);

}  // namespace lockstep::train

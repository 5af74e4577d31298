// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// What a rank keeps from its first step to its last because of its weights, in bytes of its
// device's memory.
struct WeightMemory {
    std::size_t master = 0;    // fp32 weights
    std::size_t compute = 0;   // the 16-bit copy that computes
    std::size_t gradient = 0;  // fp32
    std::size_t optimizer = 0;
    std::size_t exchanged = 0;  // of gradients as --comm-dtype bf16 sends them, see Exchange
    std::size_t tied_rows = 0;  // of a table that is summed in parts, see TiedRows

    std::size_t total() const noexcept {
        return master + compute + gradient + optimizer + exchanged + tied_rows;
    }
};

WeightMemory weight_memory(const ParameterTable& table, Precision precision, Master master,
                           const TrainOptions& options, int ranks);

// Floats that an optimizer keeps; adafactor's scratch among them.
std::size_t optimizer_floats(const OptimizerOptions& options, const ParameterTable& table);

}  // namespace lockstep::train

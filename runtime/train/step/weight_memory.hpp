// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// The device memory in bytes that a rank needs for its weights during the whole run.
struct WeightMemory {
    std::size_t master = 0;     // fp32 weights, in 16-bit precisions only the owned ones
    std::size_t compute = 0;    // 16-bit compute copy
    std::size_t gradient = 0;   // fp32
    std::size_t optimizer = 0;  // of what is owned
    std::size_t exchanged = 0;  // bf16 gradients of --comm-dtype bf16, see Exchange
    std::size_t tied_rows = 0;  // rows of a table that is summed in parts, see TiedRows
    std::size_t lane_sums = 0;  // fp32 gradients that wait for those of other lanes, see LaneSums

    std::size_t total() const noexcept {
        return master + compute + gradient + optimizer + exchanged + tied_rows + lane_sums;
    }
};

// Options with a fixed order of lanes must have the run's number of lanes. If the table was padded
// for ranks that share a replica, the numbers are one rank's, and equal on all.
WeightMemory weight_memory(const ParameterTable& table, Precision precision, Master master,
                           const TrainOptions& options, int ranks);

// Returns how many bytes of state an optimizer keeps of all parameters, including Adafactor's
// scratch memory.
std::size_t optimizer_bytes(const OptimizerOptions& options, const ParameterTable& table);

}  // namespace lockstep::train

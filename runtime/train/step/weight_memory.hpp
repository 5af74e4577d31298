// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lockstep::train {

// The device memory in bytes that a rank needs for its weights during the whole run.
struct WeightMemory {
    std::size_t master = 0;       // fp32 weights, in 16-bit precisions only the owned ones
    std::size_t compute = 0;      // weights that compute, where they are not the master
    std::size_t gradient = 0;     // fp32
    std::size_t optimizer = 0;    // of what is owned
    std::size_t narrowing = 0;    // scratch memory of --comm-dtype bf16, see NarrowGradients
    std::size_t tied_rows = 0;    // rows of a table that is summed in parts, see TiedRows
    std::size_t tensor_sums = 0;  // what tensor ranks add together, see TensorSums
    std::size_t lane_sums = 0;    // fp32 gradients that wait for those of other lanes, see LaneSums

    // In pinned memory of the host: what --offload optimizer keeps there, and the buffers that it
    // copies through. It is not in the total.
    std::size_t pinned = 0;
    // In a file: what --offload-dir keeps there. It is not in the total either.
    std::size_t disk = 0;

    std::size_t total() const noexcept {
        return master + compute + gradient + optimizer + narrowing + tied_rows + tensor_sums +
               lane_sums;
    }
};

}  // namespace lockstep::train

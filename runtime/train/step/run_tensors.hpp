// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/train/optim/optimizer.hpp"

namespace lockstep::train {

// Holds the tensors of a run in host memory; saving reads them and loading fills them.
struct RunTensors {
    const ParameterTable& table;
    HostView<float> master;  // [table.flat_size()]
    const std::vector<OptimizerTensor>& optimizer;
};

}  // namespace lockstep::train

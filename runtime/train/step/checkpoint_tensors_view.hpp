// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/train/optim/optimizer.hpp"

namespace lockstep::train {

// The tensors of a run, in host memory: read by saving, filled by loading.
struct RunTensors {
    const ParameterTable& table;
    HostView<float> master;  // [table.flat_size()]
    const std::vector<OptimizerTensor>& optimizer;
};

}  // namespace lockstep::train

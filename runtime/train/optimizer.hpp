// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/step_state.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// A parameter's share of an optimizer's memory, to be saved and loaded: "NAME.exp_avg" and the
// like, named as PyTorch does.
struct OptimizerTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    HostView<float> values;
};

// Turns the gradients of a store into new weights.
class Optimizer {
public:
    virtual ~Optimizer() = default;

    // One update of all parameters: reads lr, gradient_scale and the update count from `state`,
    // writes the master weights and, where the store has one, the copy that computes.
    virtual void update(const kernels::StepState* state) = 0;
    // In an order that depends on nothing but the options and the parameters.
    virtual const std::vector<OptimizerTensor>& state() const noexcept = 0;
};

// What is passed by reference outlives the optimizer; the table does not change any more.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const ParameterTable& table,
                                          const ParameterStore<HostSpace>& store,
                                          device::CpuContext& context);

}  // namespace lockstep::train

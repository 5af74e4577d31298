// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/step_state.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// A parameter's share of an optimizer's memory, to be saved and loaded: "NAME.exp_avg" and the
// like, named as PyTorch does.
template <class Space>
struct NamedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    View<float, Space> values;
};
using OptimizerTensor = NamedTensor<HostSpace>;

// Turns the gradients of a store into new weights.
template <class Space>
class Optimizer {
public:
    virtual ~Optimizer() = default;

    // One update of all parameters: reads lr, gradient_scale and the update count from `state`,
    // writes the master weights and, where the store has one, the copy that computes. Where `state`
    // says to skip it, nothing changes.
    virtual void update(const kernels::StepState* state) = 0;
    // In an order that depends on nothing but the options and the parameters.
    virtual const std::vector<NamedTensor<Space>>& state() const noexcept = 0;
};

// What is passed by reference outlives the optimizer; the table does not change any more.
template <class Ctx>
std::unique_ptr<Optimizer<typename Ctx::Space>> make_optimizer(
    const OptimizerOptions& options, const ParameterTable& table,
    const ParameterStore<typename Ctx::Space>& store, Ctx& context);

}  // namespace lockstep::train

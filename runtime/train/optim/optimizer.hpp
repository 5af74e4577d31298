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

// Describes a parameter's share of an optimizer's memory, for saving and loading. The name follows
// PyTorch, such as "NAME.exp_avg". A moment in int8 has codes, and `values` are the scales of its
// cells (kernels/moment_codes.hpp).
template <class Space>
struct NamedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    View<float, Space> values;
    View<std::uint8_t, Space> codes = {};
};
using OptimizerTensor = NamedTensor<HostSpace>;

// Updates the weights of a store from its gradients.
template <class Space>
class Optimizer {
public:
    virtual ~Optimizer() = default;

    // Runs one update of all parameters. It reads lr, gradient_scale and the update count from
    // `state` and writes the master weights and, if the store has one, the 16-bit compute copy.
    // Nothing changes if `state` says to skip the update.
    virtual void update(const kernels::StepState* state) = 0;
    // Returns the tensors in an order that depends only on the options and the parameters.
    virtual const std::vector<NamedTensor<Space>>& state() const noexcept = 0;
};

// Makes the optimizer that `options` names. Everything passed by reference must outlive it, and the
// table must not change any more.
template <class Ctx>
std::unique_ptr<Optimizer<typename Ctx::Space>> make_optimizer(
    const OptimizerOptions& options, const ParameterTable& table,
    const ParameterStore<typename Ctx::Space>& store, Ctx& context);

}  // namespace lockstep::train

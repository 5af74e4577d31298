// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/moment_codes.hpp"
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

// A state that has a value for every element that this rank owns, or a scale for every cell of
// them, in the order in which the store packs them. The tensors that ranks hold in parts are put
// together from these.
template <class Space>
struct FlatState {
    std::string suffix;  // of the tensors' names, such as ".exp_avg"
    View<float, Space> values;
    View<std::uint8_t, Space> codes = {};
    std::uint8_t code_of_zero = 0;  // what the gaps between parameters hold
};

// The bytes that an optimizer keeps in the device's memory, in pinned memory of the host, and in a
// file. Those of the file include a master that is stored there.
struct OptimizerBytes {
    std::size_t device = 0, pinned = 0, disk = 0;
};

// Tells what calculates an update. host: update() waits for the device, and returns when the host
// has finished.
enum class UpdatedBy { device, host };

// Tells which gradients update() reads: those of what this rank owns, or all of them. Ranks that
// share a replica then gather their parts of the gradient between prepare() and update().
enum class Reads { owned, all };

// Updates the weights of a store from its gradients.
template <class Space>
class Optimizer {
public:
    virtual ~Optimizer() = default;

    virtual Reads reads() const noexcept { return Reads::owned; }
    // May change the gradients of what this rank owns. Called before each update().
    virtual void prepare(const kernels::StepState*) {}
    // Runs one update of what the store says this rank owns. It reads lr, gradient_scale and the
    // update count from `state` and writes the master weights and, if the store has one, the 16-bit
    // compute copy. Nothing changes if `state` says to skip the update.
    virtual void update(const kernels::StepState* state) = 0;
    virtual UpdatedBy updated_by() const noexcept { return UpdatedBy::device; }
    // Sets a function that a thread of the optimizer calls when it begins.
    virtual void begin_threads_with(const std::function<void()>&) {}
    virtual OptimizerBytes bytes() const noexcept = 0;
    // Throws SystemFailure if the tensors' values cannot be read. Call it before they are.
    virtual void check_readable() const {}
    // Returns the tensors in an order that depends only on the options and the parameters. There
    // are none if the rank does not own all elements.
    virtual const std::vector<NamedTensor<Space>>& state() const noexcept = 0;
    // Returns the buffers that the tensors lie in, in their order; empty for an optimizer that only
    // works on whole parameters.
    virtual const std::vector<FlatState<Space>>& flat_state() const noexcept = 0;
};

template <class Space>
std::size_t bytes_of(const FlatState<Space>& state) noexcept {
    return state.values.size() * sizeof(float) + state.codes.size();
}

// Appends the tensors of a state whose buffers hold all elements, one for each parameter.
template <class Space>
void append_tensors(std::vector<NamedTensor<Space>>& tensors, const ParameterTable& table,
                    const FlatState<Space>& state) {
    const std::size_t cell = state.codes.empty() ? 1 : kernels::moment_cell;
    for (const Parameter& parameter : table.all()) {
        const std::size_t values = (parameter.count + cell - 1) / cell;
        NamedTensor<Space> tensor{parameter.name + state.suffix, parameter.shape,
                                  state.values.subview(parameter.offset / cell, values)};
        if (!state.codes.empty())
            tensor.codes = state.codes.subview(parameter.offset, parameter.count);
        tensors.push_back(std::move(tensor));
    }
}

// Makes the optimizer that `options` names. Everything passed by reference must outlive it, and the
// table must not change any more. Throws kind config if the optimizer only works on whole
// parameters and the store does not own them, or if the host cannot update for this device.
template <class Ctx>
std::unique_ptr<Optimizer<typename Ctx::Space>> make_optimizer(
    const OptimizerOptions& options, const ParameterTable& table,
    const ParameterStore<typename Ctx::Space>& store, Ctx& context);

}  // namespace lockstep::train

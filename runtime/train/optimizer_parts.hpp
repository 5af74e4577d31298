// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <vector>

#include "runtime/device/buffer.hpp"
#include "runtime/train/optimizer.hpp"

namespace lockstep::train {

// What an optimizer works on; all of it is borrowed.
struct OptimizerTarget {
    const ParameterTable& table;
    const ParameterStore<HostSpace>& store;
    device::CpuContext& context;
};

// A stretch of the flat buffers with one weight decay, gaps between its parameters included.
struct DecayRange {
    std::size_t first = 0, count = 0;
    float weight_decay = 0;
};
std::vector<DecayRange> decay_ranges(const ParameterTable& table, double weight_decay);

// A flat buffer beside the parameters, as a tensor "PARAMETER.suffix" for each.
void append_tensors(std::vector<OptimizerTensor>& tensors, const ParameterTable& table,
                    HostView<float> flat, const std::string& suffix);

// A range of the copy that computes; empty where the master itself computes.
template <class T>
HostView<T> compute_range(const ParameterStore<HostSpace>& store, std::size_t first,
                          std::size_t count) {
    if constexpr (std::is_same_v<T, float>)
        return {};
    else
        return store.compute<T>().subview(first, count);
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, OptimizerTarget target);
// adam and adamw
std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options, OptimizerTarget target);
std::unique_ptr<Optimizer> make_adafactor(const OptimizerOptions& options, OptimizerTarget target);

}  // namespace lockstep::train

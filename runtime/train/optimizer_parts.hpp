// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/buffer.hpp"
#include "runtime/kernels/optimizers.hpp"
#include "runtime/train/optimizer.hpp"

namespace lockstep::train {

// What an optimizer works on; all of it is borrowed.
template <class Ctx>
struct OptimizerTarget {
    const ParameterTable& table;
    const ParameterStore<typename Ctx::Space>& store;
    Ctx& context;
};

// A stretch of the flat buffers with one weight decay, gaps between its parameters included.
struct DecayRange {
    std::size_t first = 0, count = 0;
    float weight_decay = 0;
};
std::vector<DecayRange> decay_ranges(const ParameterTable& table, double weight_decay);

kernels::AdamOptions adam_options(const OptimizerOptions& options);
kernels::AdafactorOptions adafactor_options(const OptimizerOptions& options);

// A flat buffer beside the parameters, as a tensor "PARAMETER.suffix" for each.
template <class Space>
void append_tensors(std::vector<TensorIn<Space>>& tensors, const ParameterTable& table,
                    View<float, Space> flat, const std::string& suffix) {
    for (const Parameter& parameter : table.all())
        tensors.push_back({parameter.name + suffix, parameter.shape,
                           flat.subview(parameter.offset, parameter.count)});
}

// A range of the master; empty where there is none.
template <class Space>
View<float, Space> master_range(const ParameterStore<Space>& store, std::size_t first,
                                std::size_t count) {
    if (!store.has_master()) return {};
    return store.master().subview(first, count);
}

// A range of the copy that computes; empty where the master itself computes.
template <class T, class Space>
View<T, Space> compute_range(const ParameterStore<Space>& store, std::size_t first,
                             std::size_t count) {
    if constexpr (std::is_same_v<T, float>)
        return {};
    else
        return store.template compute<T>().subview(first, count);
}

}  // namespace lockstep::train

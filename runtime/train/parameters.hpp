// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"

namespace lockstep::train {

enum class WeightDecay { apply, skip };  // skip: biases and norms

struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t offset = 0;  // elements, in every flat buffer; a multiple of 16
    std::size_t count = 0;
    int block = 0;
    WeightDecay decay = WeightDecay::apply;
};

// Names and places of all parameters in the flat buffers. Added in the order in which backward
// finishes their gradients, so that gradients become final front to back. A block is a contiguous
// unit (a layer); a tied embedding table is a block of its own, last.
class ParameterTable {
public:
    // Returns the parameter's index.
    std::size_t add(std::string name, std::vector<std::int64_t> shape, int block,
                    WeightDecay decay);

    const std::vector<Parameter>& all() const noexcept { return all_; }
    const Parameter& operator[](std::size_t index) const { return all_.at(index); }
    const Parameter* find(std::string_view name) const noexcept;
    std::size_t flat_size() const noexcept { return flat_size_; }  // with alignment gaps
    std::size_t count() const noexcept;                            // without

private:
    std::vector<Parameter> all_;
    std::size_t flat_size_ = 0;
};

enum class Precision { fp32, bf16 };

// The flat buffers: fp32 master weights, fp32 gradients, and for bf16 the copy that computes.
// Gaps between parameters are and stay zero.
template <class Space>
class ParameterStore {
public:
    ParameterStore(const ParameterTable& table, Precision precision);

    Precision precision() const noexcept { return precision_; }
    View<float, Space> master() const noexcept { return master_.view(); }
    View<float, Space> gradient() const noexcept { return gradient_.view(); }
    // The weights that the model computes with: T float is the master itself.
    template <class T>
    View<T, Space> compute() const;

private:
    Precision precision_;
    device::Buffer<float, Space> master_, gradient_;
    device::Buffer<bf16, Space> compute_;
};

}  // namespace lockstep::train

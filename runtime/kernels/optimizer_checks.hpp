// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "runtime/kernels/optimizers.hpp"
#include "runtime/kernels/shapes.hpp"

// The contracts of the optimizers' operands, which hold on every device. A check throws Error.
namespace lockstep::kernels {

// Returns whether the weights have `size` elements. Only GPUs update a copy without a master.
template <class T, class Space>
bool weights_fit(std::size_t size, View<float, Space> master, View<T, Space> compute) {
    constexpr bool needs_master = std::is_same_v<Space, HostSpace>;
    const bool only_copy = !needs_master && master.empty() && !compute.empty();
    return (master.size() == size || only_copy) && (compute.empty() || compute.size() == size);
}

template <class Space>
bool decays_fit(std::size_t size, DecayLines<Space> decays) {
    return decays.empty() || decays.size() == decay_words(size);
}

template <class T, class Space>
void check(const Sgd<T, Space>& o) {
    const std::size_t n = o.gradient.size();
    require(weights_fit(n, o.master, o.compute) && decays_fit(n, o.decays), "sgd: sizes differ");
    require(o.momentum_buffer.size() == (o.options.momentum == 0 ? 0 : n) || n == 0,
            "sgd: momentum needs a buffer of the parameters' size, and only momentum does");
}

template <class T, class Space>
void check(const Adam<T, Space>& o) {
    const std::size_t n = o.gradient.size();
    require(weights_fit(n, o.master, o.compute) && o.first_moment.size() == n &&
                o.second_moment.size() == n && (o.largest.empty() || o.largest.size() == n) &&
                decays_fit(n, o.decays),
            "adam: sizes differ");
}

template <class Space>
bool moments_fit(std::size_t size, const CodedMoment<Space>& moment) {
    return moment.codes.size() == size && moment.scales.size() == moment_scales(size);
}

template <class T, class Space>
void check(const CodedAdam<T, Space>& o) {
    const std::size_t n = o.gradient.size();
    require(weights_fit(n, o.master, o.compute) && moments_fit(n, o.first_moment) &&
                moments_fit(n, o.second_moment) && decays_fit(n, o.decays),
            "coded_adam: sizes differ");
}

template <class T, class Space>
void check(const Lion<T, Space>& o) {
    const std::size_t n = o.gradient.size();
    require(weights_fit(n, o.master, o.compute) && o.moment.size() == n && decays_fit(n, o.decays),
            "lion: sizes differ");
}

template <class T, class Space>
void check(const Muon<T, Space>& o) {
    const auto n = static_cast<std::size_t>(o.direction.rows * o.direction.cols);
    const std::size_t size = o.master.size();
    require(o.direction.stride == o.direction.cols && weights_fit(size, o.master, o.compute) &&
                o.first <= n && size <= n - o.first &&
                o.scratch.size() >= muon_scratch(o.direction.rows, o.direction.cols),
            "muon: sizes differ");
}

// Returns whether the second moment is kept as the means of its rows and columns.
template <class T, class Space>
bool factorises(const Adafactor<T, Space>& o) {
    return o.gradient.rows > 1 && o.gradient.cols > 1 && o.full.empty();
}

// Requires a parameter that is not empty.
template <class T, class Space>
void check(const Adafactor<T, Space>& o) {
    const auto rows = static_cast<std::size_t>(o.gradient.rows);
    const auto cols = static_cast<std::size_t>(o.gradient.cols);
    const std::size_t n = rows * cols;
    const bool has_master = o.master.data != nullptr;
    const View<float, Space> master(o.master.data, has_master ? n : 0);
    require(
        (!has_master || (same_shape(o.master, o.gradient) && o.master.stride == o.master.cols)) &&
            weights_fit(n, master, o.compute) && o.gradient.stride == o.gradient.cols &&
            o.scratch.size() >= n && (o.first_moment.empty() || o.first_moment.size() == n),
        "adafactor: sizes differ");
    require(factorises(o) ? o.row.size() == rows && o.column.size() == cols : o.full.size() == n,
            "adafactor: the second moment has another size");
}

}  // namespace lockstep::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "runtime/kernels/optimizers.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

namespace lockstep::test {

// The weights, gradients and learning rate of make_optimizer_goldens.py.
constexpr std::int64_t golden_rows = 3, golden_cols = 4, golden_updates = 3;
constexpr float golden_lr = 0.05f;

inline std::vector<float> golden_weight() {
    std::vector<float> w;
    for (int i = 0; i < golden_rows * golden_cols; ++i)
        w.push_back(static_cast<float>(0.1 * i - 0.5));
    return w;
}

// In the units of a scaled loss: the state's gradient_scale undoes it.
constexpr float golden_scale = 0.125f;
inline std::vector<float> golden_gradient(std::int64_t update) {
    std::vector<float> g;
    for (int i = 0; i < golden_rows; ++i)
        for (int j = 0; j < golden_cols; ++j)
            g.push_back(
                static_cast<float>(std::sin(1.0 + 5.0 * static_cast<double>(update) + 3 * i + j) /
                                   double{golden_scale}));
    return g;
}

// Calls update(state, gradient) three times.
template <class Update>
void run_golden_updates(const Update& update) {
    for (std::int64_t t = 0; t < golden_updates; ++t) {
        const kernels::StepState state{.updates = static_cast<std::uint64_t>(t),
                                       .lr = golden_lr,
                                       .gradient_scale = golden_scale};
        update(&state, golden_gradient(t));
    }
}

// The master within fp32 rounding, the compute copy equal to the rounded master.
template <class T>
void check_weights(const std::vector<float>& master, const std::array<double, 12>& golden,
                   const std::vector<T>& compute) {
    for (std::size_t i = 0; i < golden.size(); ++i)
        CHECK(close(double{master[i]}, golden[i], Dtype::fp32));
    for (std::size_t i = 0; i < compute.size(); ++i)
        CHECK(to_double(compute[i]) == to_double(static_cast<T>(master[i])));
}

}  // namespace lockstep::test

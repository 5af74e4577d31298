// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/kernels/optimizers.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

namespace lockstep::tests {

// These are the weights, gradients and learning rate of make_optimizer_goldens.py.
constexpr std::int64_t golden_rows = 3, golden_cols = 4, golden_updates = 3;
constexpr float golden_lr = 0.05f;

inline std::vector<float> golden_weight() {
    std::vector<float> w;
    for (int i = 0; i < golden_rows * golden_cols; ++i)
        w.push_back(static_cast<float>(0.1 * i - 0.5));
    return w;
}

// The gradients have the units of a scaled loss; the state's gradient_scale undoes the scaling.
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

// Returns the state that finish_step() leaves for an update of adam with these betas.
inline kernels::StepState for_adam(double beta1, double beta2, kernels::StepState state) {
    const auto t = static_cast<double>(state.updates + 1);
    state.adam_step_size = static_cast<float>(double{state.lr} / (1 - std::pow(beta1, t)));
    state.adam_root_correction2 = static_cast<float>(std::sqrt(1 - std::pow(beta2, t)));
    return state;
}
inline kernels::StepState for_adam(const kernels::AdamOptions& options,
                                   const kernels::StepState& state) {
    return for_adam(options.beta1, options.beta2, state);
}

// Returns lines of 16 elements for `count` elements of which some decay. Some ranges end inside a
// word, some at its end; one has a single line, and one is longer than a block of threads.
inline std::vector<std::uint32_t> awkward_decays(std::int64_t count) {
    std::vector<std::uint32_t> words(kernels::decay_words(static_cast<std::size_t>(count)));
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = i % 5 == 1 ? 0xFFFFFFFFu : i % 5 == 2 ? 0u : 0xFF00F00Du;
    return words;
}
// Calls body(first, count, decays) for each line.
template <class Body>
void for_each_line(const std::vector<std::uint32_t>& words, std::size_t count, const Body& body) {
    constexpr std::size_t line = kernels::decay_line;
    for (std::size_t first = 0; first < count; first += line)
        body(first, std::min(line, count - first),
             (words[first / line / 32] >> first / line % 32 & 1) != 0);
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

// Checks that the master is correct within fp32 rounding and that the compute copy equals the
// rounded master.
template <class T>
void check_weights(const std::vector<float>& master, const std::array<double, 12>& golden,
                   const std::vector<T>& compute) {
    for (std::size_t i = 0; i < golden.size(); ++i)
        CHECK(close(double{master[i]}, golden[i], Dtype::fp32));
    for (std::size_t i = 0; i < compute.size(); ++i)
        CHECK(to_double(compute[i]) == to_double(static_cast<T>(master[i])));
}

}  // namespace lockstep::tests

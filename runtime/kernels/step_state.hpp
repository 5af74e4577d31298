// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"

namespace lockstep::kernels {

// Everything that changes from step to step, in the device's memory. Kernels read it there and
// never take such a value as an argument, because a captured graph would freeze the argument.
struct StepState {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;     // data and random numbers; always advances
    std::uint64_t updates = 0;  // optimizer and schedule; advances on success only
    float lr = 0;
    float loss_seed = 1;       // d(loss)/d(loss sum) that backward starts from: loss scale / N0
    float gradient_scale = 1;  // undoes loss_seed, divides by the update's tokens, and clips
    float adam_step_size = 0;  // lr / (1 - beta1^t) in update t = updates + 1
    float adam_root_correction2 = 1;  // sqrt(1 - beta2^t)
    std::uint32_t skip = 0;  // 1: there is no gradient to use, and optimizers change nothing
};

// Dropout at one place of the model. Bits: Philox with key mix(seed, step) and counter
// {site, global row, position, column / 4}; word column % 4 keeps the element when >= rate * 2^32,
// scaled by 1 / (1 - rate). They depend on neither rank nor batch layout.
struct Dropout {
    float rate = 0;
    std::uint32_t site = 0;
    const StepState* state = nullptr;

    bool active() const noexcept { return rate > 0; }
};

// Where each token of a ragged batch stands: its sequence's global row and its position in it.
// [total]
template <class Space>
struct TokenPlaces {
    View<const std::uint32_t, Space> rows;
    View<const std::int32_t, Space> positions;
};

}  // namespace lockstep::kernels

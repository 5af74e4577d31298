// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"

namespace lockstep::kernels {

// Everything that changes from step to step, in the device's memory. Kernels read these values
// there and never take them as arguments, because a captured graph would freeze an argument.
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

// Philox's rounds for dropout. A mask needs no more than words that pass the tests, and every
// element of a site costs a word in forward and another one in backward. Other rounds make other
// masks, so that no checkpoint continues bit for bit (launcher/train/run_versions.hpp).
constexpr int dropout_rounds = 7;

// Dropout at one site of the model. The bits come from Philox with key mix(seed, step) and counter
// {site, global row, position, column / 4}. Word column % 4 keeps the element when it is >= rate *
// 2^32; kept elements are scaled by 1 / (1 - rate). The bits depend neither on the rank nor on the
// layout of the batch.
struct Dropout {
    float rate = 0;
    std::uint32_t site = 0;
    const StepState* state = nullptr;
    // The number, in the whole model's matrix, of the first column of the one that is given: ranks
    // that divide columns drop the same elements. A multiple of 4; only CPUs read it.
    std::uint32_t first_column = 0;

    bool active() const noexcept { return rate > 0; }
};

// The global row of each token's sequence in a ragged batch, and the token's position in that
// sequence. Both are [total].
template <class Space>
struct TokenCoordinates {
    View<const std::uint32_t, Space> rows;
    View<const std::int32_t, Space> positions;
};

}  // namespace lockstep::kernels

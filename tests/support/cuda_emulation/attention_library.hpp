// SPDX-License-Identifier: Apache-2.0
#pragma once

// The emulated device's library of attention: off unless a context's ctx.cached<> says otherwise,
// and as careless as cuDNN where it may be. It leaves filler rows alone, what it computes for
// sequences without keys or queries is NaN, and its backward reads log-sum-exp up to the end of a
// tile of 64 rows, also behind the last sequence.
struct EmulatedAttentionLibrary {
    bool on = false;
    int longest_in_fixed_order = 128;  // that it takes backward of
    // How much longer backward takes than our own, and how often it ran: with sums in a fixed
    // order, and in any.
    float milliseconds[2] = {1.0f, 1.0f};
    int runs[2] = {0, 0};
};

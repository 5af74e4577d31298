// SPDX-License-Identifier: Apache-2.0
#pragma once

// Controls the emulated device's attention library. It is off unless
// ctx.cached<EmulatedAttentionLibrary>() turns it on. It is as careless as cuDNN may be: it does
// not write filler rows, its results for sequences without keys or queries are NaN, and its
// backward reads log-sum-exp to the end of a tile of 64 rows, even after the last sequence.
struct EmulatedAttentionLibrary {
    bool on = false;
    int longest_in_fixed_order = 128;  // longest sequence that backward accepts
    // These give how much longer backward takes than our own kernel, and how many times it ran.
    // Element 0 is for sums in a fixed order, element 1 for any order.
    float milliseconds[2] = {1.0f, 1.0f};
    int runs[2] = {0, 0};
};

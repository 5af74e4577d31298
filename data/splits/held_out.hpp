// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::data {

// Says how much of the training text is held out for validation and test.
struct HeldOut {
    double valid = 0, test = 0;  // fractions of the units; 0: none
    std::uint64_t seed = 1;

    bool any() const noexcept { return valid > 0 || test > 0; }
};

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::tests {

// Returns the factor by which dropout multiplies an element, word by word as step_state.hpp
// specifies.
inline double dropout_factor(const kernels::Dropout& site, std::uint32_t row, std::int32_t position,
                             std::int64_t column) {
    if (!site.active()) return 1;
    const PhiloxBlock words = philox<7>({site.site, row, static_cast<std::uint32_t>(position),
                                         static_cast<std::uint32_t>(column / 4)},
                                        mix(site.state->seed, site.state->step));
    const double rate = double{site.rate};
    return words[static_cast<std::size_t>(column % 4)] >= rate * 0x1p32 ? 1 / (1 - rate) : 0;
}

}  // namespace lockstep::tests

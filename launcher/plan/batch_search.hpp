// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep::launcher::plan {

// Returns the largest number from 1 to `max_size` that fits; 0 when none does. Every number below
// one that fits must fit as well.
std::int64_t largest_that_fits(std::int64_t max_size,
                               const std::function<bool(std::int64_t)>& fits);

}  // namespace lockstep::launcher::plan

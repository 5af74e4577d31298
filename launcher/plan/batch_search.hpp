// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep::launcher::plan {

// The largest of 1 to `most` that fits, where everything below one that fits does so too; 0: none.
std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits);

}  // namespace lockstep::launcher::plan

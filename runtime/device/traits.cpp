// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/traits.hpp"

#include <algorithm>
#include <bit>

namespace lockstep::device {

std::int64_t CudaTraits::launch_size(std::int64_t count, std::int64_t least) noexcept {
    if (count <= 0) return 0;
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max(count, least))));
}

}  // namespace lockstep::device

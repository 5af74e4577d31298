// SPDX-License-Identifier: Apache-2.0
#include "data/coverage.hpp"

#include "runtime/core/philox.hpp"

namespace lockstep::data {

void Coverage::add(std::span<const std::uint32_t> row_ids) noexcept {
    rows += static_cast<std::int64_t>(row_ids.size());
    for (const std::uint32_t row : row_ids)
        hash += static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(epoch), row));
}

Coverage complete_coverage(std::int64_t epoch, std::int64_t rows) noexcept {
    Coverage complete{epoch, 0, 0};
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto id = static_cast<std::uint32_t>(row);
        complete.add({&id, 1});
    }
    return complete;
}

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#include "data/batching/coverage.hpp"

#include <algorithm>

#include "runtime/core/philox.hpp"

namespace lockstep::data {

void Coverage::add(std::int64_t pass, std::uint32_t row) noexcept {
    ++rows;
    hash += static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(pass), row));
}

Coverage& Coverage::operator+=(const Coverage& other) noexcept {
    rows += other.rows;
    hash += other.hash;
    return *this;
}

Coverage complete_coverage(std::int64_t first, std::int64_t end, std::int64_t rows) noexcept {
    Coverage complete;
    for (std::int64_t pass = first; pass < end; ++pass)
        for (std::int64_t row = 0; row < rows; ++row)
            complete.add(pass, static_cast<std::uint32_t>(row));
    return complete;
}

Usage& Usage::operator+=(const Usage& other) {
    sets.resize(std::max(sets.size(), other.sets.size()));
    for (std::size_t i = 0; i < other.sets.size(); ++i) {
        sets[i].completed += other.sets[i].completed;
        sets[i].open += other.sets[i].open;
    }
    rows += other.rows;
    truncated_rows += other.truncated_rows;
    return *this;
}

}  // namespace lockstep::data

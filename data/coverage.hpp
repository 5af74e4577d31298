// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::data {

// What a rank has used of an epoch: the number of rows and a hash that does not depend on their
// order. Reports of ranks are added (the hash modulo 2^32, so a sum in doubles is exact); the sum
// equals complete_coverage() when each row was used exactly once.
struct Coverage {
    std::int64_t epoch = 0;
    std::int64_t rows = 0;
    std::uint32_t hash = 0;

    void add(std::span<const std::uint32_t> row_ids) noexcept;
    friend bool operator==(const Coverage&, const Coverage&) = default;
};

// Rows 0 .. rows - 1, each once.
Coverage complete_coverage(std::int64_t epoch, std::int64_t rows) noexcept;

}  // namespace lockstep::data

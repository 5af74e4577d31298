// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

// Rows used of passes over a data set: how many, and a hash that does not depend on their order.
// Those of ranks are added (the hash modulo 2^32, so a sum in doubles is exact); the sum equals
// complete_coverage() when each row was used exactly once in each pass.
struct Coverage {
    std::int64_t rows = 0;
    std::uint32_t hash = 0;

    void add(std::int64_t pass, std::uint32_t row) noexcept;
    Coverage& operator+=(const Coverage& other) noexcept;
    friend bool operator==(const Coverage&, const Coverage&) = default;
};

// Rows 0 .. rows - 1, each once in each of the passes `first` .. `end` - 1.
Coverage complete_coverage(std::int64_t first, std::int64_t end, std::int64_t rows) noexcept;

// Of a data set in an epoch: what was used of the passes that the epoch completes, in earlier
// epochs as well, and of the pass that goes on. A data set that is alone has one pass in each.
struct SetCoverage {
    Coverage completed, open;

    friend bool operator==(const SetCoverage&, const SetCoverage&) = default;
};

// What a rank has used, and how many rows of this epoch were cut.
struct Usage {
    std::vector<SetCoverage> sets;
    std::int64_t truncated_rows = 0;

    Usage& operator+=(const Usage& other);
};

}  // namespace lockstep::data

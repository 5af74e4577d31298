// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

// Counts the rows used of passes over a data set, with a hash that does not depend on their order.
// The coverages of the ranks are added (the hash modulo 2^32, so a sum in doubles is exact). The
// sum equals complete_coverage() if each row was used exactly once in each pass.
struct Coverage {
    std::int64_t rows = 0;
    std::uint32_t hash = 0;

    void add(std::int64_t pass, std::uint32_t row) noexcept;
    Coverage& operator+=(const Coverage& other) noexcept;
    friend bool operator==(const Coverage&, const Coverage&) = default;
};

// Returns the coverage of rows 0 .. rows - 1, each used once in each of the passes `first` .. `end`
// - 1.
Coverage complete_coverage(std::int64_t first, std::int64_t end, std::int64_t rows) noexcept;

// A data set has two coverages in an epoch. `completed` covers the passes that the epoch completes,
// including their part in earlier epochs; `open` covers the pass that continues in the next epoch.
// A single data set has exactly one pass in each epoch.
struct SetCoverage {
    Coverage completed, open;

    friend bool operator==(const SetCoverage&, const SetCoverage&) = default;
};

// Records the rows that a rank has used. `rows` and `truncated_rows` count those of this epoch
// only.
struct Usage {
    std::vector<SetCoverage> sets;
    std::int64_t rows = 0;
    std::int64_t truncated_rows = 0;

    Usage& operator+=(const Usage& other);
};

}  // namespace lockstep::data

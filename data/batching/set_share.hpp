// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::data {

// Tells how many rows of a data set each epoch uses. Passes over the set follow each other
// independently of epochs: epoch e uses the rows e * rows_per_epoch up to (e + 1) * rows_per_epoch
// of that endless sequence. For a single data set an epoch is a pass.
struct SetShare {
    std::int64_t rows = 0;  // rows of a pass
    std::int64_t rows_per_epoch = 0;

    // Returns the number of passes that are complete when the epoch begins.
    std::int64_t passes_before(std::int64_t epoch) const noexcept {
        return rows == 0 ? epoch : epoch * rows_per_epoch / rows;
    }
};

// Divides an epoch among the data sets. The epoch has as many rows as all sets together. The shares
// follow the weights exactly to the row, but a set with a positive weight has at least one row.
// Weights must not be negative, and not all 0.
std::vector<SetShare> share_epoch(std::span<const std::int64_t> rows,
                                  std::span<const double> weights);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::data {

// How much of a data set each epoch uses. The set is passed over again and again without regard to
// epochs: epoch e uses the rows e * rows_per_epoch up to (e + 1) * rows_per_epoch of that endless
// sequence. A data set that is alone has as many rows in an epoch as in a pass.
struct SetShare {
    std::int64_t rows = 0;  // of a pass
    std::int64_t rows_per_epoch = 0;

    // Passes that are complete when the epoch begins.
    std::int64_t passes_before(std::int64_t epoch) const noexcept {
        return rows == 0 ? epoch : epoch * rows_per_epoch / rows;
    }
};

// An epoch has as many rows as all sets together, divided in the ratio of the weights: to the row,
// and a set with a weight has at least one. Weights are not negative, and not all 0.
std::vector<SetShare> share_epoch(std::span<const std::int64_t> rows,
                                  std::span<const double> weights);

}  // namespace lockstep::data

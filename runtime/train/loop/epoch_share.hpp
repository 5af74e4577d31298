// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/batch/step_source.hpp"

namespace lockstep::train {

// Counts epochs, or shares of one, in rows. The number is taken as the decimal that the user wrote:
// 0.1 is a tenth of the rows and not the binary fraction next to it, so ten of them are an epoch. A
// share is complete with the first row that brings it to its end; a thousandth of a row that is
// missing, as of 0.6666667 of 30 rows, is none.
class EpochShare {
public:
    explicit EpochShare(double epochs) noexcept;

    // Tells whether the number is above 0.
    bool given() const noexcept { return parts_ > 0; }
    // Returns the rows with which one share is complete: at least 1.
    std::int64_t rows(std::int64_t rows_per_epoch) const noexcept;
    // Returns how many shares the first `rows` rows of a run complete. The number must be given.
    std::int64_t completed(std::int64_t rows, std::int64_t rows_per_epoch) const noexcept;

private:
    __extension__ using Parts = unsigned __int128;  // of which 1e15 are an epoch

    Parts parts_ = 0;
};

// Returns the number of epochs with the fraction of the current one. Only the end of all lanes
// completes an epoch, so it stays below the next whole number also if all rows are used.
double epochs_at(const Position& position, std::int64_t rows_per_epoch) noexcept;
// Returns the number of rows of that number of epochs.
std::int64_t rows_at(double epochs, std::int64_t rows_per_epoch) noexcept;

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "launcher/checked_source.hpp"

#include <array>
#include <cmath>

#include "data/coverage.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

void CheckedSource::next_epoch() {
    const data::Coverage mine = loader_.coverage();
    std::array<double, 3> sums{static_cast<double>(mine.rows), static_cast<double>(mine.hash),
                               static_cast<double>(loader_.truncated_rows())};
    communicator_.all_reduce(HostView<double>(sums.data(), sums.size()), comm::Reduction::sum,
                             "coverage");
    communicator_.finish();
    data::Coverage all;
    all.epoch = mine.epoch;
    all.rows = static_cast<std::int64_t>(sums[0]);
    all.hash = static_cast<std::uint32_t>(std::fmod(sums[1], 0x1p32));
    const std::int64_t rows = loader_.rows_per_epoch();
    const std::string epoch = "epoch " + std::to_string(mine.epoch + 1) + ": ";
    if (!(all == data::complete_coverage(mine.epoch, rows))) {
        throw Error(ErrorKind::contract,
                    epoch + "of " + std::to_string(rows) + " rows " + std::to_string(all.rows) +
                        " were used, or some twice; the ranks did not read the same data set");
    }
    const auto cut = static_cast<std::int64_t>(sums[2]);
    log_.info(epoch + "each of " + std::to_string(rows) + " rows used exactly once" +
              (cut > 0 ? ", " + std::to_string(cut) + " of them truncated" : ""));
    loader_.next_epoch();
}

}  // namespace lockstep::launcher

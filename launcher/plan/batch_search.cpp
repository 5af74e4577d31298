// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/batch_search.hpp"

#include <algorithm>

namespace lockstep::launcher::plan {

// Doubles the number until it is too large. The cost of a trial grows with the number.
std::int64_t largest_that_fits(std::int64_t max_size,
                               const std::function<bool(std::int64_t)>& fits) {
    std::int64_t good = 0, bad = 1;
    while (bad <= max_size && fits(bad)) {
        good = bad;
        bad *= 2;
    }
    bad = std::min(bad, max_size + 1);
    while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return good;
}

}  // namespace lockstep::launcher::plan

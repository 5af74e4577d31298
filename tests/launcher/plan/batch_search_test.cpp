// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/batch_search.hpp"

#include <doctest/doctest.h>

using lockstep::launcher::plan::largest_that_fits;

TEST_CASE("the search finds the last that fits, whatever it is") {
    for (const std::int64_t most : {1, 2, 7, 64, 100})
        for (std::int64_t limit = 0; limit <= most + 3; ++limit) {
            std::int64_t largest_tried = 0;
            const auto fits = [&](std::int64_t size) {
                largest_tried = std::max(largest_tried, size);
                return size <= limit;
            };
            CHECK(largest_that_fits(most, fits) == std::min(limit, most));
            CHECK(largest_tried <= most);
            CHECK(largest_tried <= 2 * std::max<std::int64_t>(limit, 1));
        }
}

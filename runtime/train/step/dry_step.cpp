// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/dry_step.hpp"

#include "runtime/batch/lane_range.hpp"
#include "runtime/train/reduction/lane_tree.hpp"

namespace lockstep::train {

namespace {

template <class Cost>
int rank_with_most(std::int64_t lanes, int ranks, const Cost& cost) {
    int found = 0;
    std::size_t most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t of_rank = cost(lanes_of_rank(lanes, rank, ranks));
        if (of_rank > most) {
            most = of_rank;
            found = rank;
        }
    }
    return found;
}

}  // namespace

int rank_with_most_kept(std::int64_t lanes, int ranks) {
    return rank_with_most(lanes, ranks,
                          [=](LaneRange range) { return waiting_branches(range, lanes); });
}

int rank_with_most_sent(std::int64_t lanes, int ranks) {
    return rank_with_most(lanes, ranks,
                          [=](LaneRange range) { return branches_of(range, lanes).size(); });
}

}  // namespace lockstep::train

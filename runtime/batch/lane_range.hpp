// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lockstep::train {

// The lanes from `first` up to, but not including, `end`.
struct LaneRange {
    std::int64_t first = 0, end = 0;

    constexpr std::int64_t count() const noexcept { return end - first; }
};

// Returns the lanes of a rank. They are neighbours, so that a rank can add up whole branches of the
// tree in which a deterministic run adds gradients (runtime/train/reduction/lane_tree.hpp). The
// numbers of lanes of two ranks differ by one at most; ranks beyond the number of lanes have none.
constexpr LaneRange lanes_of_rank(std::int64_t lanes, int rank, int ranks) noexcept {
    const std::int64_t base = lanes / ranks, extra = lanes % ranks;
    const std::int64_t first = rank * base + std::min<std::int64_t>(rank, extra);
    return {first, first + base + (rank < extra ? 1 : 0)};
}

// The ranks of a lane divide the rows of its micro-batches into parts; this is one of them.
struct LanePart {
    int number = 0, parts = 1;

    constexpr bool first() const noexcept { return number == 0; }
    // Returns the begin of part `part` of this many rows. The first parts are the larger ones.
    constexpr std::size_t begin(std::size_t rows, int part) const noexcept {
        const auto n = static_cast<std::size_t>(parts), p = static_cast<std::size_t>(part);
        return p * (rows / n) + std::min(p, rows % n);
    }
    constexpr std::size_t begin(std::size_t rows) const noexcept { return begin(rows, number); }
    constexpr std::size_t end(std::size_t rows) const noexcept { return begin(rows, number + 1); }
};

// whole: every micro-batch belongs to one rank, and ranks beyond the number of lanes have none.
// divided: if there are more ranks than lanes, several ranks divide the rows of a micro-batch.
enum class LaneSharing { whole, divided };

struct RankShare {
    LaneRange lanes;
    LanePart part;
};

constexpr RankShare share_of_rank(std::int64_t lanes, int rank, int ranks,
                                  LaneSharing sharing) noexcept {
    if (ranks <= lanes || sharing == LaneSharing::whole)
        return {lanes_of_rank(lanes, rank, ranks), {}};
    std::int64_t lane = 0;
    const auto ranks_of = [&] {
        return lanes_of_rank(ranks, static_cast<int>(lane), static_cast<int>(lanes));
    };
    while (ranks_of().end <= rank) ++lane;
    return {{lane, lane + 1},
            {static_cast<int>(rank - ranks_of().first), static_cast<int>(ranks_of().count())}};
}

}  // namespace lockstep::train

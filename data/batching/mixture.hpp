// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batching/batch_rules.hpp"
#include "data/batching/coverage.hpp"
#include "data/batching/row_feed.hpp"
#include "data/batching/set_cursor.hpp"
#include "data/batching/set_share.hpp"
#include "data/storage/dataset_info.hpp"

namespace lockstep::data {

// A data set of a mixture. Its shards are numbered on from those of the set before.
struct MixedSet {
    SetShare share;
    std::vector<std::int64_t> shard_rows;
    std::int64_t block_rows = 1;
};

// It names a lane's part of an epoch.
struct LaneOfEpoch {
    std::uint64_t seed = 0;
    std::int64_t epoch = 0;
    Lane lane;
};

// The data sets of a run, and in which order a lane's rows of them arrive: a pure function of seed,
// epoch and lane. Of several sets the next row is always that of the set which is furthest behind
// its share, so that the shares are right to the row at any time.
class Mixture {
public:
    explicit Mixture(std::vector<MixedSet> sets);
    // One data set, every row once an epoch.
    Mixture(std::vector<std::int64_t> shard_rows, std::int64_t block_rows);

    std::span<const MixedSet> sets() const noexcept { return sets_; }
    bool several() const noexcept { return sets_.size() > 1; }
    std::int64_t rows_per_epoch() const noexcept;
    std::vector<SetShare> shares() const;

    // `store` and the mixture outlive the feed.
    std::unique_ptr<RowFeed> feed(RowStore& store, const LaneOfEpoch& part) const;

    // Counts a row of the epoch.
    void add(Usage& usage, std::int64_t epoch, const RowExtent& place) const noexcept;
    // Adds what the lane used before this epoch of the passes that go on in it.
    void add_before(Usage& usage, RowStore& store, const LaneOfEpoch& part) const;
    // Returns what the epoch before leaves to this one.
    Usage carried(const Usage& before, std::int64_t epoch) const;

private:
    SetCursor cursor(std::size_t set, RowStore& store, const LaneOfEpoch& part,
                     Stretch stretch) const;

    std::vector<MixedSet> sets_;
    std::vector<SetSequence> sequences_;    // of several sets
    std::vector<std::int64_t> first_rows_;  // of each set among the rows of all
};

// As many micro-batches in a window as suit the rows, and blocks that suit the window. A pure
// function, so ranks agree without talking.
struct WindowedMixture {
    Mixture mixture;
    std::int64_t window_batches = 1;
};
WindowedMixture choose_mixture(std::span<const SplitInfo> splits, std::span<const double> weights,
                               const BatchRules& rules, std::int64_t lanes,
                               std::int64_t window_batches);

}  // namespace lockstep::data

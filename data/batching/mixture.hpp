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

// Describes a data set of a mixture. Its shard numbers continue those of the previous set.
struct MixedSet {
    SetShare share;
    std::vector<std::int64_t> shard_rows;
    std::int64_t block_rows = 1;
};

// Identifies a lane's part of an epoch.
struct LaneOfEpoch {
    std::uint64_t seed = 0;
    std::int64_t epoch = 0;
    Lane lane;
};

// A mixture consists of the data sets of a run. It determines the order in which a lane's rows
// arrive, which is a pure function of seed, epoch and lane. With several sets the next row always
// comes from the set with the smallest used fraction of its share, so the shares are exact to the
// row at any time.
class Mixture {
public:
    explicit Mixture(std::vector<MixedSet> sets);
    // Makes a mixture of a single data set: every epoch uses every row once.
    Mixture(std::vector<std::int64_t> shard_rows, std::int64_t block_rows);

    std::span<const MixedSet> sets() const noexcept { return sets_; }
    bool several() const noexcept { return sets_.size() > 1; }
    std::int64_t rows_per_epoch() const noexcept;
    std::vector<SetShare> shares() const;
    std::vector<std::int64_t> block_rows() const;  // of each set

    // `store` and the mixture must outlive the feed.
    std::unique_ptr<RowFeed> feed(RowStore& store, const LaneOfEpoch& part) const;

    // Counts a row of the epoch.
    void add(Usage& usage, std::int64_t epoch, const RowExtent& extent) const noexcept;
    // Adds the rows that the lane used, before this epoch, of the passes that continue in it.
    void add_before(Usage& usage, RowStore& store, const LaneOfEpoch& part) const;
    // Returns the usage that the previous epoch hands over to this one.
    Usage carried(const Usage& before, std::int64_t epoch) const;

private:
    SetCursor cursor(std::size_t set, RowStore& store, const LaneOfEpoch& part,
                     Stretch stretch) const;

    std::vector<MixedSet> sets_;
    std::vector<SetSequence> sequences_;    // only with several sets
    std::vector<std::int64_t> first_rows_;  // each set's first row in the numbering over all sets
};

// Chooses the number of micro-batches per window from the size of the rows, and the block sizes
// from the window. It is a pure function, so ranks agree without communication. A continued run
// gives the `block_rows` of its first start, one number for each set: rows that were dealt to a
// lane then stay with it whatever the micro-batches are now.
struct WindowedMixture {
    Mixture mixture;
    std::int64_t window_batches = 1;
};
WindowedMixture choose_mixture(std::span<const SplitInfo> splits, std::span<const double> weights,
                               const BatchRules& rules, std::int64_t lanes,
                               std::int64_t window_batches,
                               std::span<const std::int64_t> block_rows = {});

}  // namespace lockstep::data

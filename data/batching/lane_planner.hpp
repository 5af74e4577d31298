// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batching/batch_rules.hpp"
#include "data/batching/row_feed.hpp"

namespace lockstep::data {

enum class RowOrder { shuffled, as_stored };

// A lane's plan depends only on this key and on its rows.
struct PlanKey {
    std::uint64_t seed = 0;
    std::int64_t epoch = 0;
    std::int64_t lane = 0;
};

// Returns the blocks in the random order of a lane's epoch.
std::vector<RowBlock> shuffled_blocks(std::vector<RowBlock> blocks, const PlanKey& key);

// A window holds the next micro-batches of a lane, in the order of steps. Micro-batch b is
// rows[begins[b]] up to rows[begins[b + 1]].
struct WindowPlan {
    std::vector<RowExtent> rows;
    std::vector<std::size_t> begins;
    bool last = false;  // last window of the epoch

    std::size_t batches() const noexcept { return begins.empty() ? 0 : begins.size() - 1; }
};

// Plans one lane's epoch window by window. It holds the rows of at most about one window. Every
// window except the last has exactly `window_batches` micro-batches, and micro-batches of similar
// length have the same index in every lane's window. Ranks therefore have about equal work in every
// step without communication.
//
//  LanePlanner planner(mixture.feed(store, {seed, epoch, lane}), rules,
//                      {seed, epoch, lane.number}, window_batches, RowOrder::shuffled);
//  while (!planner.done()) {
//      const WindowPlan plan = planner.next();
//      for (std::size_t b = 0; b < plan.batches(); ++b) use(plan, b);
//  }
class LanePlanner {
public:
    // `rules` and the store that the feed reads must outlive the planner. The planner owns the
    // feed.
    LanePlanner(std::unique_ptr<RowFeed> feed, const BatchRules& rules, PlanKey key,
                std::int64_t window_batches, RowOrder order);

    bool done() const noexcept { return pool_.empty() && feed_->done(); }
    // Requires !done(). The plan has at least one micro-batch.
    WindowPlan next();
    // Plans the rest of the lane by other rules, which must outlive the planner. `unused` are the
    // rows of the last window that were not used: they are planned again, before all others.
    void replan(std::span<const RowExtent> unused, const BatchRules& rules,
                std::int64_t window_batches);

private:
    void fill_pool();
    std::int64_t pooled_tokens(const RowExtent& row) const noexcept;
    std::size_t rows_of_window(const std::vector<std::uint32_t>& order) const;
    std::vector<std::uint32_t> pool_order() const;
    void arrange(WindowPlan& plan) const;

    std::unique_ptr<RowFeed> feed_;
    const BatchRules* rules_;
    PlanKey key_;
    std::size_t window_batches_;
    RowOrder order_;
    std::uint64_t window_ = 0;
    std::vector<RowExtent> pool_;  // read but not planned yet, in the order of arrival
    std::int64_t pool_tokens_ = 0;
};

}  // namespace lockstep::data

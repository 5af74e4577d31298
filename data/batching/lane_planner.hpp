// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batching/batch_rules.hpp"
#include "data/batching/row_feed.hpp"

namespace lockstep::data {

enum class RowOrder { shuffled, as_stored };

// What a lane's plan depends on, besides its rows.
struct PlanKey {
    std::uint64_t seed = 0;
    std::int64_t epoch = 0;
    std::int64_t lane = 0;
};

// In the random order of a lane's epoch.
std::vector<RowBlock> shuffled_blocks(std::vector<RowBlock> blocks, const PlanKey& key);

// A lane's next micro-batches, in the order of steps. Batch b is rows[begins[b]] up to
// rows[begins[b + 1]].
struct WindowPlan {
    std::vector<RowExtent> rows;
    std::vector<std::size_t> begins;
    bool last = false;  // of the epoch

    std::size_t batches() const noexcept { return begins.empty() ? 0 : begins.size() - 1; }
};

// One lane's plan of one epoch, window by window; it holds no more than a window of rows. Every
// window but the last has exactly `window_batches` micro-batches, and those of like length are at
// the same place in every lane's window: ranks carry equal work in every step without talking.
class LanePlanner {
public:
    // `rules`, and what the feed reads from, outlive the planner.
    LanePlanner(std::unique_ptr<RowFeed> feed, const BatchRules& rules, PlanKey key,
                std::int64_t window_batches, RowOrder order);

    bool done() const noexcept { return pool_.empty() && feed_->done(); }
    // Not when done. Never empty.
    WindowPlan next();

private:
    void fill_pool();
    std::size_t rows_of_window(const std::vector<std::uint32_t>& order) const;
    std::vector<std::uint32_t> pool_order() const;
    void arrange(WindowPlan& plan) const;

    std::unique_ptr<RowFeed> feed_;
    const BatchRules& rules_;
    PlanKey key_;
    std::size_t window_batches_;
    RowOrder order_;
    std::uint64_t window_ = 0;
    std::vector<RowExtent> pool_;  // read but not planned yet, in the order of arrival
    std::int64_t pool_tokens_ = 0;
};

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#include "data/batching/lane_planner.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {
namespace {

// Each purpose in a plan needs a random sequence of its own.
enum class Purpose : std::uint64_t { blocks = 1, rows = 2, batches = 3 };

std::uint64_t key_of(const PlanKey& key, Purpose purpose) {
    return mix(mix(key.seed, static_cast<std::uint64_t>(key.epoch)),
               static_cast<std::uint64_t>(purpose));
}

// Returns the order in which a window's batches, numbered by length, are taken: element i is the
// rank of random key i among the first `count` keys. All lanes draw the same keys, so for lanes
// whose counts differ by d the numbers differ by at most d in every step.
std::vector<std::size_t> quantile_order(std::size_t count, std::uint64_t key) {
    PhiloxStream random(key);
    std::vector<std::uint32_t> keys(count);
    for (std::uint32_t& k : keys) k = random();
    std::vector<std::size_t> by_key(count), order(count);
    std::iota(by_key.begin(), by_key.end(), std::size_t{0});
    std::sort(by_key.begin(), by_key.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(keys[a], a) < std::pair(keys[b], b);
    });
    for (std::size_t number = 0; number < count; ++number) order[by_key[number]] = number;
    return order;
}

// The key includes the pass: several passes may bring the same row into one window.
std::uint64_t random_key(std::uint64_t key, const RowExtent& extent) {
    const std::uint64_t of_row = mix(key, extent.row);
    return extent.pass == 0 ? of_row : mix(of_row, extent.pass);
}

}  // namespace

std::vector<RowBlock> shuffled_blocks(std::vector<RowBlock> blocks, const PlanKey& key) {
    PhiloxStream random(mix(key_of(key, Purpose::blocks), static_cast<std::uint64_t>(key.lane)));
    for (std::size_t i = blocks.size(); i > 1; --i)
        std::swap(blocks[i - 1], blocks[random.below(static_cast<std::uint32_t>(i))]);
    return blocks;
}

LanePlanner::LanePlanner(std::unique_ptr<RowFeed> feed, const BatchRules& rules, PlanKey key,
                         std::int64_t window_batches, RowOrder order)
    : feed_(std::move(feed)),
      rules_(&rules),
      key_(key),
      window_batches_(static_cast<std::size_t>(window_batches)),
      order_(order) {
    require(window_batches > 0, "a window has batches");
}

std::int64_t LanePlanner::pooled_tokens(const RowExtent& row) const noexcept {
    return std::min(rules_->fit(row).tokens(), rules_->budget());
}

void LanePlanner::replan(std::span<const RowExtent> unused, const BatchRules& rules,
                         std::int64_t window_batches) {
    require(window_batches > 0, "a window has batches");
    pool_.insert(pool_.begin(), unused.begin(), unused.end());
    rules_ = &rules;
    window_batches_ = static_cast<std::size_t>(window_batches);
    pool_tokens_ = 0;
    for (const RowExtent& row : pool_) pool_tokens_ += pooled_tokens(row);
}

void LanePlanner::fill_pool() {
    const auto batches = static_cast<std::int64_t>(window_batches_);
    const auto enough = [&] {
        // A window takes more tokens than fit, or more rows: then the next window is never empty.
        return rules_->dynamic() == Dynamic::full
                   ? pool_tokens_ > batches * rules_->budget()
                   : static_cast<std::int64_t>(pool_.size()) > batches * rules_->batchsize();
    };
    while (!enough() && !feed_->done()) {
        const std::size_t before = pool_.size();
        feed_->append(pool_);
        for (std::size_t i = before; i < pool_.size(); ++i) pool_tokens_ += pooled_tokens(pool_[i]);
    }
}

std::vector<std::uint32_t> LanePlanner::pool_order() const {
    struct Sorted {
        std::int64_t tokens;
        std::uint64_t tie;
        std::uint32_t index;
    };
    const std::uint64_t key = key_of(key_, Purpose::rows);
    std::vector<Sorted> rows(pool_.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        const bool by_length = rules_->dynamic() != Dynamic::off;
        rows[i] = {by_length ? rules_->fit(pool_[i]).tokens() : 0,
                   order_ == RowOrder::shuffled ? random_key(key, pool_[i]) : i, i};
    }
    std::sort(rows.begin(), rows.end(), [](const Sorted& a, const Sorted& b) {
        return std::tie(a.tokens, a.tie, a.index) < std::tie(b.tokens, b.tie, b.index);
    });
    std::vector<std::uint32_t> order(rows.size());
    std::transform(rows.begin(), rows.end(), order.begin(),
                   [](const Sorted& r) { return r.index; });
    return order;
}

// Returns the maximum number of rows, in the order of arrival, that need no more than a window's
// batches. More rows never need fewer batches, so bisection finds it.
std::size_t LanePlanner::rows_of_window(const std::vector<std::uint32_t>& order) const {
    if (rules_->dynamic() != Dynamic::full)
        return std::min(pool_.size(),
                        window_batches_ * static_cast<std::size_t>(rules_->batchsize()));
    std::vector<std::int64_t> tokens;
    const auto fits = [&](std::size_t rows) {
        tokens.clear();
        for (const std::uint32_t index : order)
            if (index < rows) tokens.push_back(rules_->fit(pool_[index]).tokens());
        return rules_->count(tokens) <= window_batches_;
    };
    if (fits(pool_.size())) return pool_.size();
    std::size_t good = 1, bad = pool_.size();
    while (bad - good > 1) {
        const std::size_t middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return good;
}

WindowPlan LanePlanner::next() {
    require(!done(), "a lane is not asked beyond its end");
    fill_pool();
    const std::vector<std::uint32_t> order = pool_order();
    const std::size_t taken = rows_of_window(order);
    WindowPlan plan;
    std::vector<std::int64_t> tokens;
    for (const std::uint32_t index : order) {
        if (index >= taken) continue;
        plan.rows.push_back(pool_[index]);
        tokens.push_back(rules_->fit(pool_[index]).tokens());
    }
    for (const RowExtent& row : plan.rows) pool_tokens_ -= pooled_tokens(row);
    pool_.erase(pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(taken));
    plan.begins = rules_->cut(tokens);
    if (order_ == RowOrder::shuffled && rules_->dynamic() != Dynamic::off) arrange(plan);
    ++window_;
    plan.last = done();
    return plan;
}

void LanePlanner::arrange(WindowPlan& plan) const {
    const std::uint64_t key = mix(key_of(key_, Purpose::batches), window_);
    WindowPlan arranged;
    arranged.rows.reserve(plan.rows.size());
    arranged.begins.push_back(0);
    for (const std::size_t batch : quantile_order(plan.batches(), key)) {
        const auto begin = plan.rows.begin();
        arranged.rows.insert(arranged.rows.end(),
                             begin + static_cast<std::ptrdiff_t>(plan.begins[batch]),
                             begin + static_cast<std::ptrdiff_t>(plan.begins[batch + 1]));
        arranged.begins.push_back(arranged.rows.size());
    }
    plan = std::move(arranged);
}

}  // namespace lockstep::data

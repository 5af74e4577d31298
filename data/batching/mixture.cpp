// SPDX-License-Identifier: Apache-2.0
#include "data/batching/mixture.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/batching/lane_planner.hpp"
#include "data/batching/window_size.hpp"
#include "data/storage/shard_store.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {
namespace {

// Keys of the sets' orders begin here, so that they differ from the keys of epochs.
constexpr std::uint64_t orders = std::uint64_t{1} << 40;

class MixedFeed final : public RowFeed {
public:
    struct Part {
        SetCursor rows;
        std::int64_t weight;  // rows of the set in an epoch
        std::int64_t given = 0;
    };
    explicit MixedFeed(std::vector<Part> parts) : parts_(std::move(parts)) {}

    bool done() const noexcept override {
        return std::all_of(parts_.begin(), parts_.end(),
                           [](const Part& part) { return part.rows.done(); });
    }

    void append(std::vector<RowExtent>& out) override {
        Part* next = nullptr;
        double least = 0;
        for (Part& part : parts_) {
            if (part.rows.done()) continue;
            const double behind =
                (static_cast<double>(part.given) + 0.5) / static_cast<double>(part.weight);
            if (next != nullptr && behind >= least) continue;
            next = &part;
            least = behind;
        }
        ++next->given;
        out.push_back(next->rows.next());
    }

private:
    std::vector<Part> parts_;
};

std::vector<RowBlock> all_blocks(const MixedSet& set, std::int32_t first_shard) {
    std::vector<RowBlock> blocks = lane_blocks(set.shard_rows, set.block_rows, {0, 1});
    for (RowBlock& block : blocks) block.shard += first_shard;
    return blocks;
}

MixedSet alone(std::vector<std::int64_t> shard_rows, std::int64_t block_rows) {
    const std::int64_t rows =
        std::accumulate(shard_rows.begin(), shard_rows.end(), std::int64_t{0});
    return {{rows, rows}, std::move(shard_rows), block_rows};
}

std::int64_t tokens_of(const SplitInfo& split) {
    return static_cast<std::int64_t>(split.source_tokens + split.target_tokens);
}

}  // namespace

Mixture::Mixture(std::vector<MixedSet> sets) : sets_(std::move(sets)) {
    std::int64_t first_row = 0;
    std::int32_t first_shard = 0;
    for (const MixedSet& set : sets_) {
        first_rows_.push_back(first_row);
        if (several()) sequences_.push_back({all_blocks(set, first_shard), set.share.rows});
        first_row += set.share.rows;
        first_shard += static_cast<std::int32_t>(set.shard_rows.size());
    }
    if (first_row > std::int64_t{UINT32_MAX})
        throw Error(ErrorKind::config, "--data: more than 2^32 rows in all; leave a set out");
}

Mixture::Mixture(std::vector<std::int64_t> shard_rows, std::int64_t block_rows)
    : Mixture(std::vector{alone(std::move(shard_rows), block_rows)}) {}

std::int64_t Mixture::rows_per_epoch() const noexcept {
    std::int64_t sum = 0;
    for (const MixedSet& set : sets_) sum += set.share.rows_per_epoch;
    return sum;
}

std::vector<SetShare> Mixture::shares() const {
    std::vector<SetShare> shares;
    for (const MixedSet& set : sets_) shares.push_back(set.share);
    return shares;
}

std::vector<std::int64_t> Mixture::block_rows() const {
    std::vector<std::int64_t> rows;
    for (const MixedSet& set : sets_) rows.push_back(set.block_rows);
    return rows;
}

SetCursor Mixture::cursor(std::size_t set, RowStore& store, const LaneOfEpoch& part,
                          Stretch stretch) const {
    return {store, sequences_[set], mix(part.seed, orders + set), part.lane, stretch};
}

std::unique_ptr<RowFeed> Mixture::feed(RowStore& store, const LaneOfEpoch& part) const {
    if (!several()) {
        const MixedSet& set = sets_.front();
        return std::make_unique<BlockFeed>(
            store, shuffled_blocks(lane_blocks(set.shard_rows, set.block_rows, part.lane),
                                   {part.seed, part.epoch, part.lane.number}));
    }
    std::vector<MixedFeed::Part> parts;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
        const std::int64_t rows = sets_[i].share.rows_per_epoch;
        parts.push_back(
            {cursor(i, store, part, {part.epoch * rows, (part.epoch + 1) * rows}), rows});
    }
    return std::make_unique<MixedFeed>(std::move(parts));
}

void Mixture::add(Usage& usage, std::int64_t epoch, const RowExtent& extent) const noexcept {
    std::size_t set = sets_.size() - 1;
    while (extent.row < first_rows_[set]) --set;
    const SetShare& share = sets_[set].share;
    const std::int64_t pass = share.passes_before(epoch) + extent.pass;
    SetCoverage& used = usage.sets[set];
    Coverage& part = pass < share.passes_before(epoch + 1) ? used.completed : used.open;
    part.add(pass, extent.row - static_cast<std::uint32_t>(first_rows_[set]));
}

void Mixture::add_before(Usage& usage, RowStore& store, const LaneOfEpoch& part) const {
    if (!several()) return;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
        const SetShare& share = sets_[i].share;
        const std::int64_t pass = share.passes_before(part.epoch);
        SetCursor rows =
            cursor(i, store, part, {pass * share.rows, part.epoch * share.rows_per_epoch});
        while (!rows.done()) add(usage, part.epoch, rows.next());
    }
}

Usage Mixture::carried(const Usage& before, std::int64_t epoch) const {
    Usage usage;
    usage.sets.resize(sets_.size());
    for (std::size_t i = 0; i < sets_.size(); ++i) {
        const SetShare& share = sets_[i].share;
        const bool ends = share.passes_before(epoch) < share.passes_before(epoch + 1);
        (ends ? usage.sets[i].completed : usage.sets[i].open) = before.sets[i].open;
    }
    return usage;
}

WindowedMixture choose_mixture(std::span<const SplitInfo> splits, std::span<const double> weights,
                               const BatchRules& rules, std::int64_t lanes,
                               std::int64_t window_batches,
                               std::span<const std::int64_t> block_rows) {
    require(block_rows.empty() || block_rows.size() == splits.size(), "each set has blocks");
    std::vector<std::int64_t> rows;
    for (const SplitInfo& split : splits) rows.push_back(static_cast<std::int64_t>(split.rows));
    if (splits.size() == 1) {
        const WindowSize window = choose_window(splits.front(), rules, lanes, window_batches);
        const std::int64_t block = block_rows.empty() ? window.block_rows : block_rows.front();
        return {Mixture(shard_rows(splits.front()), block), window.batches};
    }
    const std::vector<SetShare> shares = share_epoch(rows, weights);
    SplitInfo all;
    for (std::size_t i = 0; i < splits.size(); ++i) {
        const double passes = static_cast<double>(shares[i].rows_per_epoch) /
                              static_cast<double>(std::max<std::int64_t>(1, rows[i]));
        all.rows += splits[i].rows;
        all.source_tokens +=
            static_cast<std::uint64_t>(passes * static_cast<double>(tokens_of(splits[i])));
    }
    const WindowSize window = choose_window(all, rules, lanes, window_batches);
    std::vector<MixedSet> sets;
    for (std::size_t i = 0; i < splits.size(); ++i) {
        const double share = static_cast<double>(shares[i].rows_per_epoch) /
                             static_cast<double>(std::max<std::uint64_t>(1, all.rows));
        const auto of_window = static_cast<std::int64_t>(share * static_cast<double>(window.rows));
        sets.push_back(
            {shares[i], shard_rows(splits[i]),
             block_rows.empty() ? choose_block_rows(rows[i], lanes, of_window) : block_rows[i]});
    }
    return {Mixture(std::move(sets)), window.batches};
}

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/row_lengths.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

#include "data/storage/length_index.hpp"
#include "data/storage/shard_store.hpp"

namespace lockstep::launcher::plan {
namespace {

constexpr std::int64_t endless = std::int64_t{1} << 30;

// Counts rows of one size.
struct Rows {
    std::int64_t source = 0, label = 0, count = 0;

    std::int64_t tokens() const noexcept { return source + label; }
};

// Rows are added to this micro-batch.
class Growing {
public:
    Growing(data::Layout layout, const std::vector<Rows>& all) : layout_(layout) {
        for (const Rows& rows : all) {
            longest_source_ = std::max(longest_source_, rows.source);
            longest_label_ = std::max(longest_label_, rows.label);
            longest_row_ = std::max(longest_row_, rows.tokens());
        }
    }

    void add(const Rows& rows) {
        sources_ += rows.count * rows.source;
        labels_ += rows.count * rows.label;
        sequences_ += rows.count;
    }
    // Adds `tokens` tokens of rows like these. The last row counts in part if it does not fit
    // completely.
    void add_tokens(const Rows& rows, std::int64_t tokens) {
        const std::int64_t labels = tokens * rows.label / rows.tokens();
        labels_ += labels;
        sources_ += tokens - labels;
        sequences_ += (tokens + rows.tokens() - 1) / rows.tokens();
    }
    std::int64_t tokens() const noexcept { return sources_ + labels_; }

    train::BatchShape shape() const {
        if (layout_ == data::Layout::decoder_only)
            return {0, data::shape_class(tokens()), sequences_, 0,
                    static_cast<std::int32_t>(longest_row_)};
        return {data::shape_class(sources_), data::shape_class(labels_), sequences_,
                static_cast<std::int32_t>(longest_source_),
                static_cast<std::int32_t>(longest_label_)};
    }

private:
    data::Layout layout_;
    std::int64_t longest_source_ = 0, longest_label_ = 0, longest_row_ = 0;
    std::int64_t sources_ = 0, labels_ = 0, sequences_ = 0;
};

std::vector<Rows> rows_of(const RowLengths& lengths) {
    std::vector<Rows> all;
    for (const auto& [size, count] : lengths) all.push_back({size.first, size.second, count});
    return all;
}

// Returns the batch of the `count` rows with the largest weight.
train::BatchShape heaviest(std::vector<Rows> all, const data::BatchRules& rules, std::int64_t count,
                           double angle) {
    const auto weight = [source = std::cos(angle), label = std::sin(angle)](const Rows& rows) {
        return source * static_cast<double>(rows.source) + label * static_cast<double>(rows.label);
    };
    const auto heavier = [&](const Rows& a, const Rows& b) { return weight(a) > weight(b); };
    Growing batch(rules.layout(), all);
    // Each size has at least one row, so `count` sizes are enough.
    if (count < static_cast<std::int64_t>(all.size())) {
        std::nth_element(all.begin(), all.begin() + count, all.end(), heavier);
        all.resize(static_cast<std::size_t>(count));
    }
    std::sort(all.begin(), all.end(), heavier);
    for (Rows rows : all) {
        rows.count = std::min(rows.count, count);
        count -= rows.count;
        batch.add(rows);
        if (count == 0) break;
    }
    return batch.shape();
}

// Memory is about linear in both totals, so the worst batch is the heaviest in some direction.
// Between two of the directions an error of about 1/1000 is possible.
void add_heaviest(const std::vector<Rows>& all, const data::BatchRules& rules, std::int64_t count,
                  std::vector<train::BatchShape>& shapes) {
    constexpr double quarter = std::numbers::pi / 2;
    if (rules.layout() == data::Layout::decoder_only) {
        shapes.push_back(heaviest(all, rules, count, quarter / 2));
        return;
    }
    constexpr int directions = 17;
    for (int i = 0; i < directions; ++i)
        shapes.push_back(heaviest(all, rules, count, quarter * i / (directions - 1)));
}

// Returns the shape of a batch that is filled to the budget with the rows in this order.
train::BatchShape filled(const std::vector<Rows>& order, const data::BatchRules& rules) {
    Growing batch(rules.layout(), order);
    for (const Rows& rows : order) {
        const std::int64_t room = rules.budget() - batch.tokens();
        if (room <= 0) break;
        batch.add_tokens(rows, std::min(room, rows.tokens() * rows.count));
    }
    return batch.shape();
}

void add_fullest(std::vector<Rows> all, const data::BatchRules& rules,
                 std::vector<train::BatchShape>& shapes) {
    const auto more_label = [](const Rows& a, const Rows& b) {
        return a.label * b.tokens() > b.label * a.tokens();
    };
    std::sort(all.begin(), all.end(), more_label);
    shapes.push_back(filled(all, rules));
    std::reverse(all.begin(), all.end());
    shapes.push_back(filled(all, rules));
    std::erase_if(all, [&](const Rows& rows) { return rows.tokens() <= rules.budget(); });
    // A row above the budget gets a batch of its own.
    if (!all.empty()) add_heaviest(all, rules, 1, shapes);
}

}  // namespace

RowLengths row_lengths(data::RowStore& store, std::span<const std::int64_t> shard_rows,
                       const data::BatchRules& rules) {
    constexpr std::int64_t rows_at_once = 4096;
    std::unordered_map<std::uint64_t, std::int64_t> counts;  // key: both lengths
    std::vector<data::RowExtent> extents;
    for (std::size_t shard = 0; shard < shard_rows.size(); ++shard)
        for (std::int64_t first = 0; first < shard_rows[shard]; first += rows_at_once) {
            extents.clear();
            store.append_extents(static_cast<int>(shard), first,
                                 std::min(rows_at_once, shard_rows[shard] - first), extents);
            for (const data::RowExtent& extent : extents) {
                const data::RowSize size = rules.fit(extent);
                ++counts[std::uint64_t(size.source) << 32 | std::uint64_t(size.label)];
            }
        }
    RowLengths lengths;
    for (const auto& [both, count] : counts)
        lengths[{static_cast<std::int32_t>(both >> 32), static_cast<std::int32_t>(both)}] = count;
    return lengths;
}

RowLengths row_lengths(const data::Dataset& dataset, const data::SplitInfo& split,
                       const data::BatchRules& rules) {
    data::LengthIndex index(dataset, split);
    return row_lengths(index, data::shard_rows(split), rules);
}

RowLengths row_lengths(const DataSets& sets, const char* split, const data::BatchRules& rules) {
    RowLengths lengths;
    for (const data::Dataset& set : sets.sets)
        for (const auto& [size, count] : row_lengths(set, set.split(split), rules))
            lengths[size] += count;
    return lengths;
}

RowLengths full_rows(const data::BatchRules& rules) {
    data::RowExtent longest;
    longest.source = longest.label = std::numeric_limits<std::int32_t>::max();
    const data::RowSize size = rules.fit(longest);
    return {{{size.source, size.label}, endless}};
}

std::vector<train::BatchShape> largest_batches(const RowLengths& lengths,
                                               const data::BatchRules& rules) {
    const std::vector<Rows> all = rows_of(lengths);
    std::vector<train::BatchShape> shapes;
    if (rules.dynamic() == data::Dynamic::full)
        add_fullest(all, rules, shapes);
    else
        add_heaviest(all, rules, rules.batchsize(), shapes);
    std::sort(shapes.begin(), shapes.end());
    shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
    return shapes;
}

}  // namespace lockstep::launcher::plan

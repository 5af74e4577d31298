// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/epoch_plan.hpp"

#include <algorithm>
#include <utility>

#include "data/batching/joined_stores.hpp"
#include "data/storage/length_index.hpp"

namespace lockstep::launcher::plan {
namespace {

void add_batch(EpochPlan& plan, std::span<const data::RowExtent> rows,
               const data::BatchRules& rules) {
    const bool two_sided = rules.layout() == data::Layout::encoder_decoder;
    train::BatchShape shape;
    for (const data::RowExtent& row : rows) {
        const data::RowSize size = rules.fit(row);
        const std::int32_t source = two_sided ? size.source : 0;
        const std::int32_t target = two_sided ? size.label : size.source + size.label;
        shape.source_total += source;
        shape.target_total += target;
        shape.longest_source = std::max(shape.longest_source, source);
        shape.longest_target = std::max(shape.longest_target, target);
        plan.truncated_rows += size.truncated ? 1 : 0;
    }
    const std::int64_t tokens = shape.source_total + shape.target_total;
    shape.source_total = data::shape_class(shape.source_total);
    shape.target_total = data::shape_class(shape.target_total);
    shape.sequences = static_cast<std::int64_t>(rows.size());
    ++plan.shapes[shape];
    plan.rows += shape.sequences;
    plan.tokens += tokens;
    plan.filler += shape.source_total + shape.target_total - tokens;
}

std::int64_t bytes_of(const data::WindowPlan& window) {
    std::int64_t tokens = 0;
    for (const data::RowExtent& row : window.rows) tokens += std::int64_t{row.source} + row.label;
    return tokens * static_cast<std::int64_t>(sizeof(std::int32_t)) +
           static_cast<std::int64_t>(window.rows.size() * sizeof(data::RowExtent));
}

std::int64_t add_lane(EpochPlan& plan, data::LanePlanner lane, const data::BatchRules& rules,
                      std::int64_t max_rows) {
    std::int64_t batches = 0;
    while (!lane.done() && plan.rows < max_rows) {
        const data::WindowPlan window = lane.next();
        const std::span<const data::RowExtent> rows(window.rows);
        plan.step_rows.resize(
            std::max(plan.step_rows.size(), static_cast<std::size_t>(batches) + window.batches()));
        for (std::size_t i = 0; i < window.batches(); ++i) {
            const std::size_t count = window.begins[i + 1] - window.begins[i];
            add_batch(plan, rows.subspan(window.begins[i], count), rules);
            plan.step_rows[static_cast<std::size_t>(batches) + i] +=
                static_cast<std::int64_t>(count);
        }
        plan.largest_window_bytes = std::max(plan.largest_window_bytes, bytes_of(window));
        batches += static_cast<std::int64_t>(window.batches());
    }
    return batches;
}

}  // namespace

EpochPlan plan_lane(data::LanePlanner lane, const data::BatchRules& rules, std::int64_t max_rows) {
    EpochPlan plan;
    add_lane(plan, std::move(lane), rules, max_rows);
    return plan;
}

EpochPlan plan_epoch(data::RowStore& store, std::span<const data::SplitInfo> splits,
                     const data::BatchRules& rules, const EpochOptions& options) {
    const auto [mixture, window_batches] =
        data::choose_mixture(splits, options.weights, rules, options.lanes, 0);
    EpochPlan plan;
    std::int64_t batches = 0;
    for (std::int64_t lane = 0; lane < options.lanes; ++lane) {
        const std::int64_t own = add_lane(
            plan,
            data::LanePlanner(
                mixture.feed(store, {options.seed, options.epoch, {lane, options.lanes}}), rules,
                {options.seed, options.epoch, lane}, window_batches, data::RowOrder::shuffled),
            rules, options.max_rows);
        plan.steps = std::max(plan.steps, own);
        batches += own;
    }
    plan.all_rows = mixture.rows_per_epoch();
    if (plan.rows > 0 && plan.rows < plan.all_rows) {
        const double share = static_cast<double>(plan.rows) / static_cast<double>(plan.all_rows);
        plan.steps = static_cast<std::int64_t>(static_cast<double>(batches) / share /
                                               static_cast<double>(options.lanes));
    }
    return plan;
}

train::BatchShape met_for_certain(const EpochPlan& plan, std::int64_t batches) {
    std::vector<std::pair<train::BatchShape, std::int64_t>> shapes(plan.shapes.begin(),
                                                                   plan.shapes.end());
    const auto tokens = [](const auto& one) {
        return one.first.source_total + one.first.target_total;
    };
    std::ranges::stable_sort(shapes, {}, tokens);
    train::BatchShape met;
    for (const auto& [shape, count] : shapes) {
        if (batches <= 0) break;
        met = shape;
        batches -= count;
    }
    return met;
}

EpochPlan plan_epoch(std::span<const data::Dataset> datasets, const data::BatchRules& rules,
                     const EpochOptions& options) {
    std::vector<data::SplitInfo> splits;
    std::vector<data::JoinedStores::Part> stores;
    for (const data::Dataset& dataset : datasets) {
        const data::SplitInfo& split =
            splits.emplace_back(dataset.split(data::format::train_split));
        stores.push_back({std::make_unique<data::LengthIndex>(dataset, split),
                          static_cast<std::int32_t>(split.shards.size()),
                          static_cast<std::uint32_t>(split.rows)});
    }
    return plan_epoch(*data::joined(std::move(stores)), splits, rules, options);
}

}  // namespace lockstep::launcher::plan

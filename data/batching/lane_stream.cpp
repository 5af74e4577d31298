// SPDX-License-Identifier: Apache-2.0
#include "data/batching/lane_stream.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace lockstep::data {
namespace {

std::uint64_t tokens_of(const RowExtent& row) {
    return static_cast<std::uint64_t>(row.source) + static_cast<std::uint64_t>(row.label);
}

std::vector<std::size_t> storage_order(const std::vector<RowExtent>& rows) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(rows[a].shard, rows[a].first_token, rows[a].row) <
               std::tie(rows[b].shard, rows[b].first_token, rows[b].row);
    });
    return order;
}

}  // namespace

Window::Window(WindowPlan plan, RowStore& store) : plan_(std::move(plan)) {
    const std::vector<std::size_t> order = storage_order(plan_.rows);
    first_.resize(order.size());
    std::size_t total = 0;
    for (const std::size_t i : order) {
        first_[i] = total;
        total += tokens_of(plan_.rows[i]);
    }
    tokens_.resize(total);
    for (std::size_t begin = 0; begin < order.size();) {
        // Adjacent rows are read in one call.
        const RowExtent& head = plan_.rows[order[begin]];
        std::uint64_t stop = head.first_token;
        std::size_t end = begin;
        for (; end < order.size(); ++end) {
            const RowExtent& row = plan_.rows[order[end]];
            if (row.shard != head.shard || row.first_token != stop) break;
            stop += tokens_of(row);
        }
        store.read_tokens(head.shard, head.first_token,
                          {tokens_.data() + first_[order[begin]], stop - head.first_token});
        begin = end;
    }
    spans_of_.resize(order.size());
    for (const std::size_t i : order) {
        if (!plan_.rows[i].has_gaps()) continue;
        spans_of_[i].begin = spans_.size();
        store.read_spans(plan_.rows[i], spans_);
        spans_of_[i].end = spans_.size();
    }
}

std::span<const RowExtent> Window::rows(std::size_t batch) const noexcept {
    const std::size_t begin = plan_.begins[batch];
    return {plan_.rows.data() + begin, plan_.begins[batch + 1] - begin};
}

std::span<const std::int32_t> Window::tokens(std::size_t row) const noexcept {
    return {tokens_.data() + first_[row], tokens_of(plan_.rows[row])};
}

std::span<const LabelSpan> Window::spans(std::size_t row) const noexcept {
    return std::span(spans_).subspan(spans_of_[row].begin,
                                     spans_of_[row].end - spans_of_[row].begin);
}

LaneStream::LaneStream(LanePlanner planner, RowStore& store)
    : planner_(std::move(planner)), store_(store) {}

void LaneStream::open_window() {
    if (next_batch_ < plan().batches()) return;
    window_.reset();
    unread_ = planner_.next();
    next_batch_ = 0;
}

MicroBatch LaneStream::next() {
    if (finished()) return {};
    open_window();
    if (!window_) window_ = std::make_shared<const Window>(std::exchange(unread_, {}), store_);
    return {window_, next_batch_++};
}

std::span<const RowExtent> LaneStream::skip() {
    if (finished()) return {};
    open_window();
    const WindowPlan& current = plan();
    const std::size_t begin = current.begins[next_batch_++];
    return {current.rows.data() + begin, current.begins[next_batch_] - begin};
}

void LaneStream::replan(const BatchRules& rules, std::int64_t window_batches) {
    const WindowPlan& current = plan();
    std::span<const RowExtent> unused;
    if (next_batch_ < current.batches())
        unused = std::span(current.rows).subspan(current.begins[next_batch_]);
    planner_.replan(unused, rules, window_batches);
    window_.reset();
    unread_ = {};
    next_batch_ = 0;
}

}  // namespace lockstep::data

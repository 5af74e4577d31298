// SPDX-License-Identifier: Apache-2.0
#include "data/batching/lane_stream.hpp"

#include <utility>

namespace lockstep::data {

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batching/lane_planner.hpp"

namespace lockstep::data {

// Holds a planned window with the tokens of its rows. Any thread can build batches from it.
class Window {
public:
    // Reads the tokens in the order in which they are stored.
    Window(WindowPlan plan, RowStore& store);

    const WindowPlan& plan() const noexcept { return plan_; }
    std::span<const RowExtent> rows(std::size_t batch) const noexcept;
    // Returns source and label of plan().rows[row], in this order.
    std::span<const std::int32_t> tokens(std::size_t row) const noexcept;
    // Returns the spans of plan().rows[row] that have labels if it has gaps between them.
    std::span<const LabelSpan> spans(std::size_t row) const noexcept;

private:
    WindowPlan plan_;
    std::vector<std::int32_t> tokens_;
    std::vector<std::size_t> first_;  // index of each row's first token in tokens_
    struct Range {
        std::size_t begin = 0, end = 0;
    };
    std::vector<LabelSpan> spans_;
    std::vector<Range> spans_of_;  // each row's spans in spans_
};

// Refers to a micro-batch that can be built. It is empty if the lane has no rows left.
struct MicroBatch {
    std::shared_ptr<const Window> window;
    std::size_t number = 0;

    bool empty() const noexcept { return window == nullptr; }
    std::size_t rows() const noexcept { return empty() ? 0 : window->rows(number).size(); }
};

// Yields the micro-batches of a lane's epoch, one by one. It reads tokens a window at a time, and
// only if a micro-batch of that window is taken.
class LaneStream {
public:
    // `store` must outlive the stream.
    LaneStream(LanePlanner planner, RowStore& store);

    bool finished() const noexcept { return next_batch_ == plan().batches() && planner_.done(); }
    // Returns an empty micro-batch once the lane has finished.
    MicroBatch next();
    // Skips the next micro-batch without reading its tokens. Returns its rows, valid until the next
    // call.
    std::span<const RowExtent> skip();
    // Plans all rows that next() and skip() have not returned yet by other rules. The rules must
    // outlive the stream.
    void replan(const BatchRules& rules, std::int64_t window_batches);

private:
    const WindowPlan& plan() const noexcept { return window_ ? window_->plan() : unread_; }
    void open_window();

    LanePlanner planner_;
    RowStore& store_;
    WindowPlan unread_;
    std::shared_ptr<const Window> window_;
    std::size_t next_batch_ = 0;
};

}  // namespace lockstep::data

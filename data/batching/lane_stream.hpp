// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "data/batching/lane_planner.hpp"
#include "data/batching/window.hpp"

namespace lockstep::data {

// A micro-batch to build; a dry lane has none.
struct MicroBatch {
    std::shared_ptr<const Window> window;
    std::size_t number = 0;

    bool empty() const noexcept { return window == nullptr; }
    std::size_t rows() const noexcept { return empty() ? 0 : window->rows(number).size(); }
};

// A lane's micro-batches of one epoch, one by one. Tokens are read a window at a time, and only of
// windows from which a batch is taken.
class LaneStream {
public:
    // `store` outlives the stream.
    LaneStream(LanePlanner planner, RowStore& store);

    bool finished() const noexcept { return next_batch_ == plan().batches() && planner_.done(); }
    // Empty once finished.
    MicroBatch next();
    // Passes over the next batch without reading its tokens; its rows, valid until the next call.
    std::span<const RowExtent> skip();

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

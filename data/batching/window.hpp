// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batching/lane_planner.hpp"

namespace lockstep::data {

// A planned window with its rows' tokens: all that is needed to build its batches on any thread.
class Window {
public:
    // Reads the tokens in the order in which they are stored.
    Window(WindowPlan plan, RowStore& store);

    const WindowPlan& plan() const noexcept { return plan_; }
    std::span<const RowExtent> rows(std::size_t batch) const noexcept;
    // Source, then label, of plan().rows[row].
    std::span<const std::int32_t> tokens(std::size_t row) const noexcept;

private:
    WindowPlan plan_;
    std::vector<std::int32_t> tokens_;
    std::vector<std::size_t> first_;  // of each row, in tokens_
};

}  // namespace lockstep::data

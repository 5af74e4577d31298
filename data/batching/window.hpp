// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

private:
    WindowPlan plan_;
    std::vector<std::int32_t> tokens_;
    std::vector<std::size_t> first_;  // index of each row's first token in tokens_
};

}  // namespace lockstep::data

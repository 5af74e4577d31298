// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/batch/lane_range.hpp"

namespace lockstep::train {

// A branch of the tree in which a deterministic run adds its lanes. Branch i of level 0 is lane i.
// Branch i of level k is the sum of the branches 2i and 2i + 1 of level k - 1; if there is no
// branch 2i + 1, it is branch 2i alone. The tree depends only on the number of lanes.
struct LaneBranch {
    int level = 0;
    std::int64_t index = 0;

    friend bool operator==(const LaneBranch&, const LaneBranch&) = default;
};

// Adds branches that arrive in the order of their lanes. The stack holds the branches whose
// siblings have not arrived. Usage:
//
//     LaneStack stack(lanes);
//     for (std::int64_t lane = 0; lane < lanes; ++lane) {
//         std::size_t sums = stack.push({0, lane});
//         for (values.push_back(of(lane)); sums > 0; --sums) add_the_last_two(values);
//     }
class LaneStack {
public:
    explicit LaneStack(std::int64_t lanes) : lanes_(lanes) {}

    // Puts a branch on the stack. Returns how often the two branches on top were replaced by their
    // sum afterwards.
    std::size_t push(LaneBranch branch);
    const std::vector<LaneBranch>& branches() const noexcept { return branches_; }

private:
    LaneBranch highest(LaneBranch branch) const noexcept;

    std::int64_t lanes_;
    std::vector<LaneBranch> branches_;
};

// Returns the fewest branches that contain exactly these lanes, in their order.
std::vector<LaneBranch> branches_of(LaneRange range, std::int64_t lanes);

// Returns how many gradients wait at most, besides the current one, while these lanes are added.
std::size_t waiting_branches(LaneRange range, std::int64_t lanes);

}  // namespace lockstep::train

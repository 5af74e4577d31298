// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/lane_tree.hpp"

#include <algorithm>

namespace lockstep::train {

// A branch without a sibling is its parent too. The root is branch 0 of its level.
LaneBranch LaneStack::highest(LaneBranch branch) const noexcept {
    const auto has_sibling = [&] {
        return branch.index % 2 != 0 || (branch.index + 1) << branch.level < lanes_;
    };
    while (branch.index > 0 && !has_sibling()) branch = {branch.level + 1, branch.index / 2};
    return branch;
}

std::size_t LaneStack::push(LaneBranch branch) {
    std::size_t sums = 0;
    branch = highest(branch);
    while (!branches_.empty() && branch.index % 2 != 0 &&
           branches_.back() == LaneBranch{branch.level, branch.index - 1}) {
        branches_.pop_back();
        branch = highest({branch.level + 1, branch.index / 2});
        ++sums;
    }
    branches_.push_back(branch);
    return sums;
}

std::vector<LaneBranch> branches_of(LaneRange range, std::int64_t lanes) {
    LaneStack stack(lanes);
    for (std::int64_t lane = range.first; lane < range.end; ++lane) stack.push({0, lane});
    return stack.branches();
}

std::size_t waiting_branches(LaneRange range, std::int64_t lanes) {
    LaneStack stack(lanes);
    std::size_t most = 0;
    for (std::int64_t lane = range.first; lane < range.end; ++lane) {
        most = std::max(most, stack.branches().size());
        stack.push({0, lane});
    }
    return most;
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/lane_sums.hpp"

#include <algorithm>

#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::train {

using device::CpuContext;

LaneSums<CpuContext>::LaneSums(CpuContext& context, comm::Communicator& communicator,
                               HostView<float> gradient, std::int64_t lanes, std::size_t max_count)
    : context_(context),
      gradient_(gradient),
      range_(lanes_of_rank(lanes, communicator.rank(), communicator.size())),
      losses_(static_cast<std::size_t>(lanes) * kernels::StepSums::count) {
    LaneStack stack(lanes);
    for (std::int64_t lane = range_.first; lane < range_.end; ++lane)
        sums_.push_back(stack.push({0, lane}));
    for (std::size_t i = 0; i < waiting_branches(range_, lanes); ++i)
        branches_.emplace_back(gradient.size());
    if (communicator.size() > 1) exchange_.emplace(communicator, lanes, max_count);
}

void LaneSums<CpuContext>::begin_step() {
    lane_ = kept_ = 0;
    std::fill(losses_.begin(), losses_.end(), 0.0);
}

void LaneSums<CpuContext>::take_losses(kernels::Step* step) {
    const std::size_t lane = static_cast<std::size_t>(range_.first) + lane_;
    std::copy_n(&step->sums.losses.loss, kernels::StepSums::count,
                losses_.data() + lane * kernels::StepSums::count);
    step->sums = {};
}

void LaneSums<CpuContext>::add_branch(std::size_t branch, std::size_t first, std::size_t count) {
    const float* const from = branches_[branch].view().data() + first;
    float* const to = gradient_.data() + first;
    constexpr std::int64_t columns = 4096;  // rows are what threads share
    const std::int64_t rows = static_cast<std::int64_t>(count) / columns;
    const std::int64_t rest = static_cast<std::int64_t>(count) % columns;
    kernels::add<float>(context_, {from, rows, columns, columns}, {to, rows, columns, columns});
    kernels::add<float>(context_, {from + rows * columns, 1, rest, rest},
                        {to + rows * columns, 1, rest, rest});
}

void LaneSums<CpuContext>::keep_gradient() {
    for (std::size_t left = sums_[lane_]; left > 0; --left)
        add_branch(--kept_, 0, gradient_.size());
    kernels::cast<float, float>(context_, gradient_, branches_[kept_].view());
    ++kept_;
    ++lane_;
}

void LaneSums<CpuContext>::reduce(std::size_t first, std::size_t count, const std::string& label) {
    const std::size_t sums = sums_.empty() ? 0 : sums_.back();
    for (std::size_t i = 0; i < sums; ++i) add_branch(kept_ - 1 - i, first, count);
    if (!exchange_) return;
    const HostView<float> sum = gradient_.subview(first, count);
    std::vector<HostView<float>> branches;
    for (std::size_t i = 0; i + sums < kept_; ++i)
        branches.push_back(branches_[i].view().subview(first, count));
    if (range_.count() > 0) branches.push_back(sum);
    exchange_->queue(branches, sum, label);
}

void LaneSums<CpuContext>::give_losses(kernels::Step* step) const {
    double* const sums = &step->sums.losses.loss;
    for (std::size_t i = 0; i < losses_.size(); ++i)
        sums[i % kernels::StepSums::count] += losses_[i];
}

}  // namespace lockstep::train

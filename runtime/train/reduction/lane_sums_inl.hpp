// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/lane_sums.hpp"

namespace lockstep::train {

template <class Ctx>
CpuLaneSums<Ctx>::CpuLaneSums(Ctx& context, comm::Communicator& communicator,
                              View<float, Space> gradient, std::int64_t lanes,
                              std::size_t max_count)
    : context_(context),
      gradient_(gradient),
      range_(lanes_of_rank(lanes, communicator.rank(), communicator.size())),
      losses_(static_cast<std::size_t>(lanes) * kernels::StepSums::count) {
    LaneStack stack(lanes);
    for (std::int64_t lane = range_.first; lane < range_.end; ++lane)
        sums_.push_back(stack.push({0, lane}));
    for (std::size_t i = 0; i < waiting_branches(range_, lanes); ++i)
        branches_.emplace_back(gradient.size());
    if (communicator.size() == 1) return;
    received_ =
        device::Buffer<float, Space>(received_floats(lanes, communicator.size(), max_count));
    exchange_.emplace(communicator, lanes, device::in_host(received_.view()));
}

template <class Ctx>
void CpuLaneSums<Ctx>::begin_step() {
    lane_ = kept_ = 0;
    std::fill(losses_.begin(), losses_.end(), 0.0);
}

template <class Ctx>
void CpuLaneSums<Ctx>::take_losses(kernels::Step* step) {
    if constexpr (!std::is_same_v<Space, HostSpace>) return;
    const std::size_t lane = static_cast<std::size_t>(range_.first) + lane_;
    std::copy_n(&step->sums.losses.loss, kernels::StepSums::count,
                losses_.data() + lane * kernels::StepSums::count);
    step->sums = {};
}

template <class Ctx>
void CpuLaneSums<Ctx>::add_branch(std::size_t branch, std::size_t first, std::size_t count) {
    const float* const from = branches_[branch].view().data() + first;
    float* const to = gradient_.data() + first;
    constexpr std::int64_t columns = 4096;  // rows are what threads share
    const std::int64_t rows = static_cast<std::int64_t>(count) / columns;
    const std::int64_t rest = static_cast<std::int64_t>(count) % columns;
    kernels::add<float>(context_, {from, rows, columns, columns}, {to, rows, columns, columns});
    kernels::add<float>(context_, {from + rows * columns, 1, rest, rest},
                        {to + rows * columns, 1, rest, rest});
}

template <class Ctx>
void CpuLaneSums<Ctx>::keep_gradient() {
    for (std::size_t left = sums_[lane_]; left > 0; --left)
        add_branch(--kept_, 0, gradient_.size());
    kernels::cast<float, float>(context_, gradient_, branches_[kept_].view());
    ++kept_;
    ++lane_;
}

template <class Ctx>
void CpuLaneSums<Ctx>::reduce(std::size_t first, std::size_t count, const std::string& label) {
    const std::size_t sums = sums_.empty() ? 0 : sums_.back();
    for (std::size_t i = 0; i < sums; ++i) add_branch(kept_ - 1 - i, first, count);
    if (!exchange_) return;
    const HostView<float> sum = device::in_host(gradient_.subview(first, count));
    std::vector<HostView<float>> branches;
    for (std::size_t i = 0; i + sums < kept_; ++i)
        branches.push_back(device::in_host(branches_[i].view().subview(first, count)));
    if (range_.count() > 0) branches.push_back(sum);
    exchange_->queue(branches, sum, label);
}

template <class Ctx>
void CpuLaneSums<Ctx>::give_losses(kernels::Step* step) const {
    if constexpr (!std::is_same_v<Space, HostSpace>) return;
    double* const sums = &step->sums.losses.loss;
    for (std::size_t i = 0; i < losses_.size(); ++i)
        sums[i % kernels::StepSums::count] += losses_[i];
}

template <class Ctx>
std::size_t CpuLaneSums<Ctx>::bytes() const noexcept {
    return (branches_.size() * gradient_.size() + received_.size()) * sizeof(float);
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/tensor_engine.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"

namespace lockstep::train {

void TensorEngine::take_memory() {
    if (!weights_.empty()) return;
    weights_.resize(parts_.whole.flat_size());
    const std::vector<OptimizerTensor>& own = own_->fetch().optimizer;
    states_.resize(own.size());
    optimizer_.clear();
    for (std::size_t i = 0; i < own.size(); ++i) {
        const Parameter& whole = parameter_of(i);
        require(own[i].name.starts_with(whole.name + ".") && own[i].codes.empty(),
                "the optimizer has other tensors than one for each parameter");
        states_[i].resize(whole.count);
        optimizer_.push_back({own[i].name, whole.shape, view_of(states_[i])});
    }
}

RunTensors TensorEngine::fetch() {
    if (is_rank_0()) take_memory();
    return {parts_.whole, view_of(weights_), optimizer_};
}

void TensorEngine::spread(const Parameter& whole, HostView<const float> from,
                          HostView<float> part) {
    std::vector<float> values(whole.count);
    if (is_rank_0()) std::ranges::copy(from, values.begin());
    parts_.tensor.broadcast(view_of(values), 0, "whole tensors");
    parts_.tensor.finish();
    cut(whole, parts_.slice, view_of(values), part);
}

void TensorEngine::gather(const Parameter& whole, HostView<const float> part, HostView<float> to) {
    std::vector<float> own(part.begin(), part.end());
    std::vector<float> all(own.size() * static_cast<std::size_t>(parts_.slice.size));
    parts_.tensor.all_gather(view_of(own), view_of(all), "parts of tensors");
    parts_.tensor.finish();
    if (!is_rank_0()) return;
    for (int rank = 0; rank < parts_.slice.size; ++rank) {
        const HostView<const float> of_rank = view_of(all);
        join(whole, {rank, parts_.slice.size},
             of_rank.subview(static_cast<std::size_t>(rank) * own.size(), own.size()), to);
    }
}

void TensorEngine::share_weights() {
    if (has_rank_0()) {
        std::vector<std::uint64_t> written{written_ ? std::uint64_t{1} : std::uint64_t{0}};
        parts_.tensor.broadcast(view_of(written), 0, "new weights");
        parts_.tensor.finish();
        written_ = false;
        if (written.front() > 0) {
            const RunTensors own = own_->fetch();
            const HostView<const float> all = view_of(weights_);
            for (std::size_t i = 0; i < parts_.whole.all().size(); ++i) {
                const Parameter &whole = parts_.whole[i], &part = own.table[i];
                spread(
                    whole,
                    is_rank_0() ? all.subview(whole.offset, whole.count) : HostView<const float>(),
                    own.master.subview(part.offset, part.count));
            }
            own_->write_back();
        }
    }
    own_->share_weights();
}

void TensorEngine::share_optimizer() {
    if (has_rank_0()) {
        const RunTensors own = own_->fetch();
        for (std::size_t i = 0; i < own.optimizer.size(); ++i)
            spread(parameter_of(i), is_rank_0() ? optimizer_.at(i).values : HostView<float>(),
                   own.optimizer[i].values);
        if (own_->owned() == nullptr) own_->write_back();
    }
    own_->share_optimizer();
}

RunTensors TensorEngine::copy_for_save() {
    own_->finish_weights();
    const RunTensors own = own_->owned() != nullptr ? own_->copy_for_save() : own_->fetch();
    const RunTensors whole = fetch();
    if (!has_rank_0()) return whole;
    for (std::size_t i = 0; i < parts_.whole.all().size(); ++i) {
        const Parameter &all = parts_.whole[i], &part = own.table[i];
        gather(all, own.master.subview(part.offset, part.count),
               is_rank_0() ? whole.master.subview(all.offset, all.count) : HostView<float>());
    }
    for (std::size_t i = 0; i < own.optimizer.size(); ++i)
        gather(parameter_of(i), own.optimizer[i].values,
               is_rank_0() ? optimizer_.at(i).values : HostView<float>());
    return whole;
}

// A gradient that is not finite may be in one rank's part alone.
std::string TensorEngine::nonfinite_gradient() {
    const auto& all = parts_.whole.all();
    const std::string found = own_->nonfinite_gradient();
    const auto first = std::ranges::find(all, found, &Parameter::name);
    std::vector<std::uint64_t> number{static_cast<std::uint64_t>(first - all.begin())};
    parts_.tensor.all_reduce(view_of(number), comm::ReduceOp::min, "gradient that is not finite");
    parts_.tensor.finish();
    return number.front() < all.size() ? all[number.front()].name : "";
}

}  // namespace lockstep::train

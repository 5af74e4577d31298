// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/stage_engine.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"

namespace lockstep::train {

namespace {

constexpr const char* label = "tensors of a stage";

// The optimizer has so many tensors for each parameter, one after the other for all of them.
std::size_t kinds_of(const RunTensors& own) {
    return own.optimizer.size() / own.table.all().size();
}

// Returns the number of a stage's parameter in the whole table.
std::size_t number_in(const ParameterTable& whole, const Parameter& parameter) {
    const Parameter* const found = whole.find(parameter.name);
    require(found != nullptr, "a stage has a parameter that the model lacks");
    return static_cast<std::size_t>(found - whole.all().data());
}

}  // namespace

void StageEngine::take_memory() {
    if (!weights_.empty()) return;
    weights_.resize(parts_.whole.flat_size());
    const RunTensors own = own_->fetch();
    const std::size_t own_count = own.table.all().size(), count = parts_.whole.all().size();
    states_.resize(kinds_of(own) * count);
    optimizer_.clear();
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const Parameter& whole = parts_.whole[i % count];
        const OptimizerTensor& first = own.optimizer[i / count * own_count];
        const std::string& name = own.table[0].name;
        require(first.name.starts_with(name + ".") && first.codes.empty(),
                "the optimizer has other tensors than one for each parameter");
        states_[i].resize(whole.count);
        optimizer_.push_back(
            {whole.name + first.name.substr(name.size()), whole.shape, view_of(states_[i])});
    }
}

RunTensors StageEngine::fetch() {
    if (is_rank_0()) take_memory();
    return {parts_.whole, view_of(weights_), optimizer_};
}

template <class Move>
void StageEngine::by_weights(const RunTensors& own, const Move& move) {
    const HostView<float> all = view_of(weights_);
    for (int stage = 0; stage < parts_.stage.stages; ++stage)
        for (const Parameter& parameter : parts_.tables.at(static_cast<std::size_t>(stage)).all()) {
            HostView<float> whole, part;
            if (is_rank_0())
                whole = all.subview(parts_.whole.find(parameter.name)->offset, parameter.count);
            if (stage == parts_.stage.number)
                part = own.master.subview(own.table.find(parameter.name)->offset, parameter.count);
            move(stage, parameter, whole, part);
        }
}

template <class Move>
void StageEngine::by_state(const RunTensors& own, const Move& move) {
    const std::size_t kinds = kinds_of(own), own_count = own.table.all().size();
    const std::size_t count = parts_.whole.all().size();
    for (std::size_t kind = 0; kind < kinds; ++kind)
        for (int stage = 0; stage < parts_.stage.stages; ++stage) {
            const auto& table = parts_.tables.at(static_cast<std::size_t>(stage)).all();
            for (std::size_t i = 0; i < table.size(); ++i) {
                HostView<float> whole, part;
                if (is_rank_0())
                    whole = optimizer_.at(kind * count + number_in(parts_.whole, table[i])).values;
                if (stage == parts_.stage.number)
                    part = own.optimizer.at(kind * own_count + i).values;
                move(stage, table[i], whole, part);
            }
        }
}

void StageEngine::give(int stage, HostView<const float> whole, HostView<float> part) {
    if (stage == 0) {
        if (is_rank_0()) std::ranges::copy(whole, part.begin());
        return;
    }
    if (parts_.stage.is_first())
        parts_.stages.send({const_cast<float*>(whole.data()), whole.size(), Dtype::fp32}, stage,
                           label);
    if (parts_.stage.number == stage) parts_.stages.recv(part, 0, label);
    parts_.stages.finish();
}

void StageEngine::take(int stage, HostView<const float> part, HostView<float> whole) {
    if (stage == 0) {
        if (is_rank_0()) std::ranges::copy(part, whole.begin());
        return;
    }
    if (parts_.stage.number == stage)
        parts_.stages.send({const_cast<float*>(part.data()), part.size(), Dtype::fp32}, 0, label);
    if (parts_.stage.is_first()) parts_.stages.recv(whole, stage, label);
    parts_.stages.finish();
}

void StageEngine::share_weights() {
    if (has_rank_0()) {
        std::vector<std::uint64_t> written{written_ ? std::uint64_t{1} : std::uint64_t{0}};
        parts_.stages.broadcast(view_of(written), 0, "new weights");
        parts_.stages.finish();
        written_ = false;
        if (written.front() > 0) {
            by_weights(own_->fetch(), [this](int stage, const Parameter&, HostView<float> whole,
                                             HostView<float> part) { give(stage, whole, part); });
            own_->write_back();
        }
    }
    own_->share_weights();
}

void StageEngine::share_optimizer() {
    if (has_rank_0()) {
        by_state(own_->fetch(), [this](int stage, const Parameter&, HostView<float> whole,
                                       HostView<float> part) { give(stage, whole, part); });
        if (own_->owned() == nullptr) own_->write_back();
    }
    own_->share_optimizer();
}

// The first and the last stage have the same tied table, of which the first one's is taken.
RunTensors StageEngine::copy_for_save() {
    own_->finish_weights();
    const RunTensors own = own_->owned() != nullptr ? own_->copy_for_save() : own_->fetch();
    const RunTensors whole = fetch();
    if (!has_rank_0()) return whole;
    const ParameterTable& first = parts_.tables.front();
    const auto move = [&](int stage, const Parameter& parameter, HostView<float> to,
                          HostView<float> part) {
        if (stage == 0 || first.find(parameter.name) == nullptr) take(stage, part, to);
    };
    by_weights(own, move);
    by_state(own, move);
    return whole;
}

// The stages of all ranks that read rows have added the same gradients.
std::string StageEngine::nonfinite_gradient() {
    const auto& all = parts_.whole.all();
    const std::string found = own_->nonfinite_gradient();
    const auto first = std::ranges::find(all, found, &Parameter::name);
    std::vector<std::uint64_t> number{static_cast<std::uint64_t>(first - all.begin())};
    parts_.stages.all_reduce(view_of(number), comm::ReduceOp::min, "gradient that is not finite");
    parts_.stages.finish();
    return number.front() < all.size() ? all[number.front()].name : "";
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/train/sharing/host_tensors.hpp"
#include "runtime/train/sharing/owned_pieces.hpp"

namespace lockstep::train {

// Gives the host an owned part of a store's weights as fp32, as HostValues does, with or without a
// master.
template <class Ctx>
class OwnedWeights {
public:
    using Space = typename Ctx::Space;

    OwnedWeights(const ParameterStore<Space>& store, const OwnedPart& part)
        : store_(store), part_(part), master_(store.master(part)) {}

    const OwnedPart& part() const noexcept { return part_; }
    HostView<float> fetch(Ctx& ctx) {
        return store_.has_master() ? master_.fetch(ctx) : widened(ctx);
    }
    HostView<float> copy(Ctx& ctx) {
        return store_.has_master() ? master_.copy(ctx) : widened(ctx);
    }
    HostView<float> reserve() {
        if (store_.has_master()) return master_.reserve();
        widened_.resize(part_.count);
        return view_of(widened_);
    }
    void write_back(Ctx& ctx) {
        if (store_.has_master()) return master_.write_back(ctx);
        narrow<Ctx>(ctx, store_, part_.first, view_of(widened_));
    }

private:
    HostView<float> widened(Ctx& ctx) {
        widened_.resize(part_.count);
        widen(ctx, store_, part_.first, view_of(widened_));
        return view_of(widened_);
    }

    const ParameterStore<Space>& store_;
    OwnedPart part_;
    HostValues<Ctx> master_;
    std::vector<float> widened_;  // used only if there is no master
};

// Gives the host the parts that this rank owns of a store's weights and of an optimizer's state.
template <class Ctx>
class OwnedTensors final : public OwnedAccess {
public:
    using Space = typename Ctx::Space;

    // `written` is called by write_back() after the values are in the store. The arguments must
    // outlive the object.
    OwnedTensors(Ctx& ctx, const ParameterStore<Space>& store, const Optimizer<Space>& optimizer,
                 std::function<void(Written)> written)
        : ctx_(ctx), store_(store), state_(optimizer), written_(std::move(written)) {
        for (const OwnedPart& part : store.owned()) weights_.emplace_back(store, part);
        for (const FlatState<Space>& state : optimizer.flat_state()) {
            suffixes_.push_back(state.suffix);
            const std::size_t cell = state.codes.empty() ? 1 : kernels::moment_cell;
            for (const OwnedPart& part : store.owned()) {
                const View<std::uint8_t, Space> codes =
                    state.codes.empty() ? state.codes
                                        : state.codes.subview(part.packed, part.count);
                const auto values = state.values.subview(part.packed / cell, part.count / cell);
                optimizer_.push_back({part, HostValues<Ctx>(values),
                                      HostValues<Ctx, std::uint8_t>(codes), state.suffix});
            }
        }
    }

    void save_from_here() override { copies_ = true; }
    bool makes_copies() const noexcept { return copies_; }
    RunPieces current() override {
        return pieces([this](auto& values) { return values.fetch(ctx_); });
    }
    RunPieces copy() override {
        return pieces([this](auto& values) { return values.copy(ctx_); });
    }
    RunPieces reserve() override {
        return pieces([](auto& values) { return values.reserve(); }, Wait::no);
    }
    void write_back(Written what) override {
        for (OwnedWeights<Ctx>& weights : weights_) weights.write_back(ctx_);
        if (what == Written::all)
            for (StatePart& state : optimizer_) {
                state.values.write_back(ctx_);
                state.codes.write_back(ctx_);
            }
        ctx_.synchronize();
        written_(what);
    }

private:
    struct StatePart {
        OwnedPart part;
        HostValues<Ctx> values;
        HostValues<Ctx, std::uint8_t> codes;
        std::string suffix;
    };
    enum class Wait { yes, no };

    template <class Take>
    RunPieces pieces(const Take& take, Wait wait = Wait::yes) {
        if (wait == Wait::yes) state_.check_readable();
        RunPieces all{store_.table(), suffixes_};
        for (OwnedWeights<Ctx>& weights : weights_)
            append_pieces(all.weights, store_.table(), weights.part(), "", {take(weights)});
        for (StatePart& state : optimizer_)
            append_pieces(all.optimizer, store_.table(), state.part, state.suffix,
                          {take(state.values), take(state.codes)});
        if (wait == Wait::yes) ctx_.synchronize();
        return all;
    }

    Ctx& ctx_;
    const ParameterStore<Space>& store_;
    const Optimizer<Space>& state_;
    std::function<void(Written)> written_;
    bool copies_ = false;
    std::vector<std::string> suffixes_;
    std::deque<OwnedWeights<Ctx>> weights_;
    std::deque<StatePart> optimizer_;
};

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/train/step/host_tensors.hpp"
#include "runtime/train/step/owned_pieces.hpp"

namespace lockstep::train {

// Gives the host the parts that this rank owns of a store's weights and of an optimizer's state.
template <class Ctx>
class OwnedTensors final : public OwnedAccess {
public:
    using Space = typename Ctx::Space;

    // `written` is called by write_back() after the values are in the store. The arguments must
    // outlive the object.
    OwnedTensors(Ctx& ctx, const ParameterStore<Space>& store, const Optimizer<Space>& optimizer,
                 std::function<void(Written)> written)
        : ctx_(ctx), store_(store), written_(std::move(written)) {
        for (const OwnedPart& part : store.owned()) weights_.push_back({part, store.master(part)});
        for (const FlatState<Space>& state : optimizer.flat_state()) {
            suffixes_.push_back(state.suffix);
            const std::size_t cell = state.codes.empty() ? 1 : kernels::moment_cell;
            for (const OwnedPart& part : store.owned()) {
                const View<std::uint8_t, Space> codes =
                    state.codes.empty() ? state.codes
                                        : state.codes.subview(part.packed, part.count);
                optimizer_.push_back({part,
                                      state.values.subview(part.packed / cell, part.count / cell),
                                      codes, state.suffix});
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
        for (Part& part : weights_) part.values.write_back(ctx_);
        if (what == Written::all)
            for (Part& part : optimizer_) {
                part.values.write_back(ctx_);
                part.codes.write_back(ctx_);
            }
        ctx_.synchronize();
        written_(what);
    }

private:
    struct Part {
        Part(const OwnedPart& where, View<float, Space> of, View<std::uint8_t, Space> codes_of = {},
             std::string name_end = "")
            : part(where), values(of), codes(codes_of), suffix(std::move(name_end)) {}

        OwnedPart part;
        HostValues<Ctx> values;
        HostValues<Ctx, std::uint8_t> codes;
        std::string suffix;
    };
    enum class Wait { yes, no };

    template <class Take>
    RunPieces pieces(const Take& take, Wait wait = Wait::yes) {
        RunPieces all{store_.table(), suffixes_};
        const auto append = [&](std::vector<RunPiece>& to, std::deque<Part>& parts) {
            for (Part& part : parts)
                append_pieces(to, store_.table(), part.part, part.suffix,
                              {take(part.values), take(part.codes)});
        };
        append(all.weights, weights_);
        append(all.optimizer, optimizer_);
        if (wait == Wait::yes) ctx_.synchronize();
        return all;
    }

    Ctx& ctx_;
    const ParameterStore<Space>& store_;
    std::function<void(Written)> written_;
    bool copies_ = false;
    std::vector<std::string> suffixes_;
    std::deque<Part> weights_, optimizer_;
};

}  // namespace lockstep::train

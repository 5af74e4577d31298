// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/host_side.hpp"
#include "runtime/device/readback.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/optim/element_optimizer.hpp"
#include "runtime/train/optim/offload_chunks.hpp"

namespace lockstep::train {

// Updates a master that lies in the host's memory there, with moments beside it, by the CPU's
// kernels: chunk by chunk, while the gradients of the next chunk arrive and the weights of the one
// before leave for the device. T is the type of the weights that the update writes on the device;
// it writes none if they have slots. The device must compute the update's StepState first.
template <class Ctx, class T>
class OffloadedOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;
    using Host = device::HostSide<Ctx>;
    // The CPU's kernels write bf16 beside the master. fp16 is rounded from the master.
    using Written = std::conditional_t<std::is_same_v<T, bf16>, bf16, float>;
    using Rule = ElementOptimizer<Host, Written>;

    // `make_rule` makes the optimizer of the host's part of a target without parts.
    template <class MakeRule>
    OffloadedOptimizer(const OptimizerOptions& options, const OptimizerTarget<Ctx>& target,
                       const MakeRule& make_rule)
        : store_(target.store),
          host_(target.context),
          state_at_host_(target.context),
          chunks_(offload_chunks(store_.owned(), options.offload_bytes)),
          decays_(lines_of_host(options, target)),
          rule_(make_rule(
              ElementTarget<Host, Written>{target.table, host_, store_.packed_size(), {}})) {
        require(store_.has_offloaded_master(), "the host updates a master in its own memory");
        for (auto& slot : gradients_) slot = Kept<float>(largest(chunks_));
        if (!std::is_same_v<T, float>)
            for (auto& slot : weights_) slot = Kept<T>(largest(chunks_));
        for (const FlatState<HostSpace>& state : rule_->flat_state())
            state_.add(target.table, store_.packed_size(),
                       {state.suffix, {state.values.data(), state.values.size()}});
    }

    UpdatedBy updated_by() const noexcept override { return UpdatedBy::host; }
    OptimizerBytes bytes() const noexcept override {
        std::size_t bytes = rule_->bytes().device;  // in the rule's own memory, which is pinned
        for (const auto& slot : gradients_) bytes += slot.size() * sizeof(float);
        for (const auto& slot : weights_) bytes += slot.size() * sizeof(T);
        return {.pinned = bytes};
    }
    void update(const kernels::StepState* state) override {
        state_at_host_.send(state);
        const kernels::StepState now = state_at_host_.take();
        if (now.skip != 0) return;
        host_.begin();
        fetch(0);
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            if (i + 1 < chunks_.size()) fetch(i + 1);
            host_.wait_fetched(slot_of(i));
            host_.wait_sent(slot_of(i));
            update_chunk(now, i);
        }
    }
    // The views are of pinned memory, which the device addresses, too.
    const std::vector<NamedTensor<Space>>& state() const noexcept override {
        return state_.tensors();
    }
    const std::vector<FlatState<Space>>& flat_state() const noexcept override {
        return state_.flat();
    }

private:
    template <class V>
    using Kept = device::Memory<V, Host>;

    // A dry device's host updates nothing.
    static std::vector<std::uint32_t> lines_of_host(const OptimizerOptions& options,
                                                    const OptimizerTarget<Ctx>& target) {
        if constexpr (std::is_same_v<Space, device::DrySpace>)
            return {};
        else
            return decay_lines(target.table, options.weight_decay, target.store.owned());
    }
    static std::size_t slot_of(std::size_t chunk) noexcept { return chunk % device::host_slots; }

    void fetch(std::size_t i) {
        const OffloadChunk& chunk = chunks_[i];
        const View<const float, Space> sum = store_.gradient_sum(store_.owned()[chunk.part]);
        host_.fetch(slot_of(i), sum.subview(chunk.first, chunk.count), gradient(i));
    }
    HostView<float> gradient(std::size_t i) const {
        return gradients_[slot_of(i)].view().subview(0, chunks_[i].count);
    }
    void update_chunk(const kernels::StepState& state, std::size_t i) {
        const OffloadChunk& chunk = chunks_[i];
        const OwnedPart& part = store_.owned()[chunk.part];
        PartOperands<Written, HostSpace> operands;
        operands.gradient = gradient(i);
        operands.master = device::in_host(store_.master(part)).subview(chunk.first, chunk.count);
        operands.packed = part.packed + chunk.first;
        if (!decays_.empty())
            operands.decays = HostView<const std::uint32_t>(view_of(decays_))
                                  .subview(chunk.decay_word, kernels::decay_words(chunk.count));
        if (store_.weight_placement().has_slots()) return rule_->update_part(&state, operands);
        const View<T, Space> to = store_.template compute<T>(part.first + chunk.first, chunk.count);
        if constexpr (std::is_same_v<T, float>) {
            rule_->update_part(&state, operands);
            host_.template send<T>(slot_of(i), operands.master, to);
        } else {
            const HostView<T> weights = weights_[slot_of(i)].view().subview(0, chunk.count);
            if constexpr (std::is_same_v<T, Written>) operands.compute = weights;
            rule_->update_part(&state, operands);
            if constexpr (!std::is_same_v<T, Written>)
                kernels::cast<float, T>(host_, operands.master, weights);
            host_.template send<T>(slot_of(i), weights, to);
        }
    }

    const ParameterStore<Space>& store_;
    Host host_;
    device::Readback<kernels::StepState, Ctx> state_at_host_;
    const std::vector<OffloadChunk> chunks_;
    const std::vector<std::uint32_t> decays_;
    std::unique_ptr<Rule> rule_;
    std::array<Kept<float>, device::host_slots> gradients_;
    std::array<Kept<T>, device::host_slots> weights_;  // empty in fp32, which leaves the master
    OwnedState<Space> state_;
};

}  // namespace lockstep::train

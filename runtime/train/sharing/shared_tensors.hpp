// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/train/sharing/host_tensors.hpp"
#include "runtime/train/sharing/owned_exchange.hpp"

namespace lockstep::train {

// Takes HostTensors' place where ranks hold the optimizer's state, and maybe the master, in parts.
// Rank 0 keeps whole tensors in host memory, for loading and for saving.
template <class Ctx>
class SharedTensors {
public:
    using Space = typename Ctx::Space;

    // The arguments must outlive the object.
    SharedTensors(Ctx& ctx, comm::Communicator& hosts, const ParameterStore<Space>& store,
                  const Optimizer<Space>& optimizer, const std::vector<Bucket>& buckets)
        : ctx_(ctx),
          rank_(hosts.rank()),
          store_(store),
          weights_(ctx, store),
          exchange_(hosts, buckets, store.table().sharing()) {
        for (const FlatState<Space>& state : optimizer.flat_state()) states_.push_back({state});
    }

    // Returns tensors for a checkpoint's values. Those of the optimizer have no values yet. Only
    // before share_weights() and share_optimizer().
    RunTensors fetch() { return {store_.table(), weights_.fetch(), whole_state()}; }
    void write_back() { weights_.write_back(); }
    // Gives every rank its parts of rank 0's store.whole_weights(), whose memory is given back, or
    // kept on rank 0 for copies. The call is collective.
    enum class Whole { kept, dropped };
    void spread_master(Whole on_rank_0) {
        Staged<float> master(ctx_, store_.master());
        const HostView<float> whole = rank_ == 0 ? store_.whole_weights() : HostView<float>();
        exchange_.spread<float>({master.host(), whole});
        master.write_back(ctx_);
        if (rank_ != 0 || on_rank_0 == Whole::dropped) store_.drop_whole_weights();
        write_owned_weights(ctx_, store_);
    }
    // Gives every rank its parts of rank 0's tensors. The call is collective.
    void spread_state() {
        for (State& state : states_) {
            Staged<float> values(ctx_, state.packed.values);
            exchange_.spread<float>({values.host(), state.values.view(), cell_of(state)});
            values.write_back(ctx_);
            if (state.packed.codes.empty()) continue;
            Staged<std::uint8_t> codes(ctx_, state.packed.codes);
            exchange_.spread<std::uint8_t>({codes.host(), state.codes.view()});
            codes.write_back(ctx_);
        }
    }
    // Returns a copy of all tensors on rank 0, and none on the others. The call is collective.
    RunTensors copy() {
        if (rank_ == 0) (void)reserve();
        for (State& state : states_) {
            Staged<float> values(ctx_, state.packed.values);
            values.read(ctx_);
            exchange_.gather<float>({values.host(), state.values.view(), cell_of(state)});
            if (state.packed.codes.empty()) continue;
            Staged<std::uint8_t> codes(ctx_, state.packed.codes);
            codes.read(ctx_);
            exchange_.gather<std::uint8_t>({codes.host(), state.codes.view()});
        }
        if (!store_.has_packed_master())
            return {store_.table(), rank_ == 0 ? weights_.copy() : HostView<float>(), tensors_};
        Staged<float> master(ctx_, store_.master());
        master.read(ctx_);
        const HostView<float> whole = rank_ == 0 ? weights_.reserve() : HostView<float>();
        exchange_.gather<float>({master.host(), whole});
        return {store_.table(), whole, tensors_};
    }
    // Takes rank 0's memory for copy(). Uses no device.
    RunTensors reserve() { return {store_.table(), weights_.reserve(), whole_state()}; }

private:
    template <class T>
    using HostBuffer = device::Buffer<T, HostSpace>;

    struct State {
        FlatState<Space> packed;
        HostBuffer<float> values = {};        // whole
        HostBuffer<std::uint8_t> codes = {};  // whole
    };

    // Gives the host a packed buffer: the buffer itself, or a copy of a device's.
    template <class T>
    class Staged {
    public:
        Staged(Ctx&, View<T, Space> packed) : packed_(packed) {
            if constexpr (!std::is_same_v<Space, HostSpace>)
                copy_ = HostBuffer<T>(packed.size(), device::Content::undefined);
        }
        HostView<T> host() {
            if constexpr (std::is_same_v<Space, HostSpace>)
                return packed_;
            else
                return copy_.view();
        }
        void read(Ctx& ctx) {
            if constexpr (!std::is_same_v<Space, HostSpace>) {
                device::copy(ctx, View<const T, Space>(packed_), copy_.view());
                ctx.synchronize();
            }
        }
        void write_back(Ctx& ctx) {
            if constexpr (!std::is_same_v<Space, HostSpace>) {
                device::copy(ctx, HostView<const T>(copy_.view()), packed_);
                ctx.synchronize();
            }
        }

    private:
        View<T, Space> packed_;
        HostBuffer<T> copy_;
    };

    template <class T>
    static HostBuffer<T> zeros(std::size_t size) {
        return HostBuffer<T>(size, device::Content::zeroed);
    }
    static std::size_t cell_of(const State& state) {
        return state.packed.codes.empty() ? 1 : kernels::moment_cell;
    }
    const std::vector<OptimizerTensor>& whole_state() {
        if (!tensors_.empty()) return tensors_;
        const std::size_t size = store_.table().flat_size();
        for (State& state : states_) {
            state.values = zeros<float>(size / cell_of(state));
            if (!state.packed.codes.empty()) {
                state.codes = zeros<std::uint8_t>(size);
                std::ranges::fill(state.codes.view(), state.packed.code_of_zero);
            }
            append_tensors<HostSpace>(
                tensors_, store_.table(),
                {state.packed.suffix, state.values.view(), state.codes.view()});
        }
        return tensors_;
    }

    Ctx& ctx_;
    const int rank_;
    const ParameterStore<Space>& store_;
    HostWeights<Ctx> weights_;
    OwnedExchange exchange_;
    std::vector<State> states_;
    std::vector<OptimizerTensor> tensors_;  // views of the whole states
};

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "runtime/device/buffer.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/train/optim/optimizer.hpp"
#include "runtime/train/sharing/parameter_sync.hpp"
#include "runtime/train/sharing/run_tensors.hpp"

namespace lockstep::train {

// Gives the host access to a device's values: to the values themselves if they are in host memory,
// else to a copy of them. copy() makes a copy in either case.
template <class Ctx, class T = float>
class HostValues {
public:
    using Space = typename Ctx::Space;
    static constexpr bool copied = !std::is_same_v<Space, HostSpace>;

    explicit HostValues(View<T, Space> values) : values_(values) {}

    // fetch() and write_back() are ordered with the device's work; the host may read the values
    // after synchronize().
    HostView<T> fetch(Ctx& ctx) {
        if constexpr (copied) {
            return copy(ctx);
        } else {
            return values_;
        }
    }
    // Takes the memory of the copy. The zeros bring its pages into memory, which takes longer than
    // copying. Uses no device.
    HostView<T> reserve() {
        if (copy_.size() != values_.size())
            copy_ = device::Buffer<T, HostSpace>(values_.size(), device::Content::zeroed);
        return copy_.view();
    }
    // The memory is taken by the first copy, unless it was reserved, and renewed by the next one,
    // or by fetch().
    HostView<T> copy(Ctx& ctx) {
        if (copy_.size() != values_.size())
            copy_ = device::Buffer<T, HostSpace>(values_.size(), device::Content::undefined);
        device::copy(ctx, View<const T, Space>(values_), copy_.view());
        return copy_.view();
    }
    void write_back(Ctx& ctx) {
        if constexpr (copied) device::copy(ctx, HostView<const T>(copy_.view()), values_);
    }

private:
    View<T, Space> values_;
    device::Buffer<T, HostSpace> copy_;
};

// Copies 16-bit weights, which are all that a store without a master has, to fp32 in host memory,
// or back. The range begins with element `first` of the flat buffer.
template <class Ctx>
void widen(Ctx& ctx, const ParameterStore<typename Ctx::Space>& store, std::size_t first,
           HostView<float> to) {
    with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() {
        const View<const T, typename Ctx::Space> weights =
            store.template compute<T>(first, to.size());
        std::vector<T> narrow(to.size());
        device::copy(ctx, weights, view_of(narrow));
        ctx.synchronize();
        std::ranges::transform(narrow, to.begin(), [](T v) { return static_cast<float>(v); });
    });
}
template <class Ctx>
void narrow(Ctx& ctx, const ParameterStore<typename Ctx::Space>& store, std::size_t first,
            HostView<const float> from) {
    with_element(typename Ctx::Elements{}, store.precision(), [&]<class T>() {
        std::vector<T> values(from.size());
        std::ranges::transform(from, values.begin(), [](float v) { return T(v); });
        device::copy(ctx, HostView<const T>(view_of(values)),
                     store.template compute<T>(first, from.size()));
        ctx.synchronize();  // the copy may still read `values`, which ends here
    });
}

// Gives access to the weights of a store as fp32 in host memory, with or without a master. Where
// the master is packed, fetch() and write_back() use the gradient's memory as write_compute_copy()
// says, or the store's whole_weights() if gradients have slots, and copy() must not be called.
template <class Ctx>
class HostWeights {
public:
    using Space = typename Ctx::Space;

    HostWeights(Ctx& ctx, const ParameterStore<Space>& store)
        : ctx_(ctx),
          store_(store),
          master_(store.has_packed_master() ? store.gradient() : store.master()) {}

    // Tells whether the values are the store's whole_weights().
    bool is_staged() const {
        return store_.has_packed_master() && store_.gradient_placement().has_slots();
    }
    HostView<float> fetch() {
        if (is_staged()) return store_.whole_weights();
        const HostView<float> values = store_.has_master() ? master_.fetch(ctx_) : widened();
        ctx_.synchronize();
        return values;
    }
    HostView<float> copy() {
        const HostView<float> values = store_.has_master() ? master_.copy(ctx_) : widened();
        ctx_.synchronize();
        return values;
    }
    HostView<float> reserve() {
        if (is_staged()) return store_.whole_weights();
        if (store_.has_master()) return master_.reserve();
        widened_.resize(store_.table().flat_size());
        return view_of(widened_);
    }
    // Also writes the 16-bit compute copy.
    void write_back() {
        if (is_staged()) return;
        store_.has_master() ? master_.write_back(ctx_)
                            : narrow<Ctx>(ctx_, store_, 0, view_of(widened_));
        write_compute_copy(ctx_, store_);
        ctx_.synchronize();
    }

private:
    HostView<float> widened() {
        widened_.resize(store_.table().flat_size());
        widen(ctx_, store_, 0, view_of(widened_));
        return view_of(widened_);
    }

    Ctx& ctx_;
    const ParameterStore<Space>& store_;
    HostValues<Ctx> master_;
    std::vector<float> widened_;  // used only if there is no master
};

template <class Ctx>
class HostTensors {
public:
    using Space = typename Ctx::Space;

    // The arguments must outlive the object.
    HostTensors(Ctx& ctx, const ParameterTable& table, const ParameterStore<Space>& store,
                const Optimizer<Space>& optimizer)
        : ctx_(ctx), table_(table), weights_(ctx, store) {
        for (const NamedTensor<Space>& tensor : optimizer.state()) {
            optimizer_.emplace_back(tensor.values);
            codes_.emplace_back(tensor.codes);
            views_.push_back({tensor.name, tensor.shape, {}});
            copies_.push_back({tensor.name, tensor.shape, {}});
        }
    }

    RunTensors fetch() {
        for (std::size_t i = 0; i < views_.size(); ++i) {
            views_[i].values = optimizer_[i].fetch(ctx_);
            views_[i].codes = codes_[i].fetch(ctx_);
        }
        return {table_, weights_.fetch(), views_};
    }
    RunTensors copy() {
        for (std::size_t i = 0; i < copies_.size(); ++i) {
            copies_[i].values = optimizer_[i].copy(ctx_);
            copies_[i].codes = codes_[i].copy(ctx_);
        }
        return {table_, weights_.copy(), copies_};
    }
    RunTensors reserve_copy() {
        for (std::size_t i = 0; i < copies_.size(); ++i) {
            copies_[i].values = optimizer_[i].reserve();
            copies_[i].codes = codes_[i].reserve();
        }
        return {table_, weights_.reserve(), copies_};
    }
    void write_back() {
        for (HostValues<Ctx>& tensor : optimizer_) tensor.write_back(ctx_);
        for (HostValues<Ctx, std::uint8_t>& tensor : codes_) tensor.write_back(ctx_);
        weights_.write_back();
    }

private:
    Ctx& ctx_;
    const ParameterTable& table_;
    HostWeights<Ctx> weights_;
    std::vector<HostValues<Ctx>> optimizer_;
    std::vector<HostValues<Ctx, std::uint8_t>> codes_;  // empty ones except of moments in int8
    std::vector<OptimizerTensor> views_, copies_;
};

}  // namespace lockstep::train

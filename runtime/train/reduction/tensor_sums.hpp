// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/kernels/exact_sum.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/tensor_slice.hpp"

namespace lockstep::train {

// The ranks that compute each layer together.
template <class Space>
struct TensorGroup {
    TensorSlice slice = {};
    comm::Collectives<Space>* collectives = nullptr;  // among them
    const ParameterTable* whole = nullptr;            // of all parameters, undivided
};

constexpr const char* shared_gradients_label = "shared gradients";

// A range of an owned part whose gradient the tensor ranks add. In each of them it is calculated
// from other tokens, or from other heads.
struct SharedRange {
    std::size_t part = 0;              // number of the owned part
    std::size_t first = 0, count = 0;  // elements of the part
    int copies = 1;                    // neighbouring ranks that hold the same range
};
struct SliceRanges {
    std::vector<SharedRange> shared;
    std::vector<SharedRange> own;  // those of which no other tensor rank has a copy
};
// `store_table` is the rank's table, which has the parameters of `whole` in the same order.
SliceRanges slice_ranges(const ParameterTable& store_table, const ParameterTable& whole,
                         const TensorSlice& slice, const std::vector<OwnedPart>& owned);

// Adds over tensor ranks what each of them has calculated for all: the gradients of norms, of
// biases behind sums, of the tables, and of heads of keys that several ranks hold; and the losses.
// Call it when the ranks that read other rows have been added. The large ranges are added in place,
// the small ones together.
template <class Ctx>
class TensorSums {
public:
    using Space = typename Ctx::Space;

    // The store and what the group names must outlive the object.
    TensorSums(Ctx& context, const TensorGroup<Space>& group, const ParameterStore<Space>& store);

    void add(View<double, Space> losses);
    // Adds the squares of the whole gradient: each element counts once.
    void add_squares(View<kernels::ExactSum, Space> squares);

    std::size_t bytes() const noexcept { return packed_.size() * sizeof(float); }

private:
    // Ranges from this size on are added in place.
    static constexpr std::size_t large = std::size_t{1} << 16;

    bool in_place(const SharedRange& range) const noexcept {
        return range.count >= large && range.copies == group_.slice.size;
    }
    View<float, Space> gradient(const SharedRange& range) const {
        return store_.gradient_sum(store_.owned()[range.part]).subview(range.first, range.count);
    }
    // Calls work(range, its place) for the small ranges. Ranks that hold other copies have other
    // places, and zeros in those of the others.
    template <class Work>
    std::size_t by_small_ranges(const Work& work) const;

    Ctx& context_;
    const TensorGroup<Space> group_;
    const ParameterStore<Space>& store_;
    const SliceRanges ranges_;
    device::Buffer<float, Space> packed_;
};

}  // namespace lockstep::train

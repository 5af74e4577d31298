// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/reducer.hpp"
#include "runtime/train/reduction/tensor_sums.hpp"

namespace lockstep::train {

template <class Ctx>
TensorSums<Ctx>::TensorSums(Ctx& context, const TensorGroup<Space>& group,
                            const ParameterStore<Space>& store)
    : context_(context),
      group_(group),
      store_(store),
      ranges_(slice_ranges(store.table(), *group.whole, group.slice, store.owned())),
      packed_(by_small_ranges([](const SharedRange&, std::size_t) {})) {}

template <class Ctx>
template <class Work>
std::size_t TensorSums<Ctx>::by_small_ranges(const Work& work) const {
    std::size_t at = 0;
    for (const SharedRange& range : ranges_.shared) {
        if (in_place(range)) continue;
        const int places = group_.slice.size / range.copies;
        const int place = group_.slice.rank / range.copies;
        work(range, at + static_cast<std::size_t>(place) * range.count);
        at += static_cast<std::size_t>(places) * range.count;
    }
    return at;
}

template <class Ctx>
void TensorSums<Ctx>::add(View<double, Space> losses) {
    comm::Collectives<Space>& ranks = *group_.collectives;
    const View<float, Space> packed = packed_.view();
    kernels::fill_zero(context_, packed);
    by_small_ranges([&](const SharedRange& range, std::size_t at) {
        device::copy(context_, View<const float, Space>(gradient(range)),
                     packed.subview(at, range.count));
    });
    ranks.all_reduce(losses, comm::ReduceOp::sum, "losses");
    ranks.all_reduce(packed, comm::ReduceOp::sum, shared_gradients_label);
    for (const SharedRange& range : ranges_.shared)
        if (in_place(range))
            ranks.all_reduce(gradient(range), comm::ReduceOp::sum, shared_gradients_label);
    ranks.finish();
    by_small_ranges([&](const SharedRange& range, std::size_t at) {
        device::copy(context_, View<const float, Space>(packed.subview(at, range.count)),
                     gradient(range));
    });
}

template <class Ctx>
void TensorSums<Ctx>::add_squares(View<kernels::ExactSum, Space> squares) {
    for (const SharedRange& range : ranges_.own)
        kernels::add_sum_of_squares(context_, gradient(range), squares);
    for (const SharedRange& range : ranges_.shared)
        if (group_.slice.rank % range.copies == 0)
            kernels::add_sum_of_squares(context_, gradient(range), squares);
    add_squares_among(*group_.collectives, squares);
}

}  // namespace lockstep::train

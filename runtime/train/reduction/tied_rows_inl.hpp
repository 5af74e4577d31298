// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/keep_alive.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/scatter.hpp"
#include "runtime/train/reduction/tied_rows.hpp"

namespace lockstep::train {

template <class Ctx>
TiedRows<Ctx>::TiedRows(Ctx& context, comm::Communicator& hosts, const TiedTable& table)
    : context_(context),
      hosts_(hosts),
      table_(table),
      names_(std::make_shared<NamedRows>(table.rows, hosts.size())),
      upload_(context),
      sums_(static_cast<std::size_t>(table.max_named() * table.cols)) {}

template <class Ctx>
void TiedRows<Ctx>::name(const Batch* last) {
    names_->name(last);
    hosts_.all_reduce(names_->counters(), comm::ReduceOp::sum, "tokens of the step");
    comm::keep_alive(hosts_, names_);
}

template <class Ctx>
void TiedRows<Ctx>::agree() {
    hosts_.finish();
    count_ = names_->assign_slots();
    order_ =
        count_ <= table_.max_named() ? BucketOrder::last_one_first : BucketOrder::front_to_back;
    if (order_ == BucketOrder::front_to_back) return;
    upload_.begin(names_->slots().size() * sizeof(std::int32_t));
    slots_ = upload_.add(names_->slots());
    upload_.finish();
    kernels::fill_zero(context_, named());
}

template <class Ctx>
auto TiedRows<Ctx>::all_rows() const -> MatrixView<float, Space> {
    return {sums_.view().data(), table_.max_named(), table_.cols, table_.cols};
}

template <class Ctx>
InputRows TiedRows<Ctx>::rows() const {
    return {slots_.data(), sums_.view().data(), table_.max_named()};
}

template <class Ctx>
auto TiedRows<Ctx>::named() const -> View<float, Space> {
    return sums_.view().subview(0, static_cast<std::size_t>(count_ * table_.cols));
}

template <class Ctx>
void TiedRows<Ctx>::add_to(View<float, Space> gradient) {
    const MatrixView<float, Space> to{gradient.data() + table_.first, table_.rows, table_.cols,
                                      table_.cols};
    kernels::add_gathered_rows(context_, slots_, all_rows(), to);
}

}  // namespace lockstep::train

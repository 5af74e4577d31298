// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/reducer.hpp"
#include "runtime/train/reduction/stage_sums.hpp"

namespace lockstep::train {

template <class Ctx>
StageSums<Ctx>::StageSums(Ctx& context, const StageGroup<Space>& group,
                          const ParameterStore<Space>& store)
    : context_(context), group_(group), store_(store) {
    if (group_.ends == nullptr) return;
    const Parameter* const table = store.table().find(group_.table);
    require(table != nullptr, "a stage lacks the table that it shares");
    table_ = {table->offset, table->count};
}

template <class Ctx>
void StageSums<Ctx>::add(View<double, Space> losses) {
    group_.collectives->all_reduce(losses, comm::ReduceOp::sum, "losses");
    if (table_.count > 0) {
        group_.ends->all_reduce(store_.gradient(table_.first, table_.count), comm::ReduceOp::sum,
                                shared_table_label);
        group_.ends->finish();
    }
    group_.collectives->finish();
}

template <class Ctx>
void StageSums<Ctx>::add_squares(View<kernels::ExactSum, Space> squares) {
    const View<float, Space> all = store_.gradient();
    if (table_.count == 0 || group_.stage.is_first()) {
        kernels::add_sum_of_squares(context_, all, squares);
    } else {
        const std::size_t end = table_.first + table_.count;
        kernels::add_sum_of_squares(context_, all.subview(0, table_.first), squares);
        kernels::add_sum_of_squares(context_, all.subview(end, all.size() - end), squares);
    }
    add_squares_among(*group_.collectives, squares);
}

}  // namespace lockstep::train

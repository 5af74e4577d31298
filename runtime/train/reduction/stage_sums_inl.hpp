// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/reducer.hpp"
#include "runtime/train/reduction/stage_sums.hpp"

namespace lockstep::train {

template <class Ctx>
StageSums<Ctx>::StageSums(Ctx& context, const StageGroup<Space>& group,
                          const ParameterStore<Space>& store)
    : context_(context), group_(group) {
    const Parameter* const table =
        group.ends != nullptr ? store.table().find(group.table) : nullptr;
    require((group.ends == nullptr) == (table == nullptr),
            "a stage lacks the table that it shares");
    const std::size_t first = table != nullptr ? table->offset : store.table().flat_size();
    for (const OwnedPart& part : store.owned()) {
        const std::size_t own = std::clamp(first, part.first, part.first + part.count) - part.first;
        const View<float, Space> gradient = store.gradient_sum(part);
        own_.push_back(gradient.subview(0, own));
        table_.push_back(gradient.subview(own, part.count - own));
    }
}

template <class Ctx>
void StageSums<Ctx>::add(View<double, Space> losses) {
    group_.collectives->all_reduce(losses, comm::ReduceOp::sum, "losses");
    if (group_.ends != nullptr) {
        for (const View<float, Space>& part : table_)
            if (part.size() > 0)
                group_.ends->all_reduce(part, comm::ReduceOp::sum, shared_table_label);
        group_.ends->finish();
    }
    group_.collectives->finish();
}

template <class Ctx>
void StageSums<Ctx>::add_squares(View<kernels::ExactSum, Space> squares) {
    for (const View<float, Space>& part : own_)
        kernels::add_sum_of_squares(context_, part, squares);
    if (group_.stage.is_first())
        for (const View<float, Space>& part : table_)
            kernels::add_sum_of_squares(context_, part, squares);
    add_squares_among(*group_.collectives, squares);
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/kernels/exact_sum.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/pipeline_stage.hpp"

namespace lockstep::train {

// The stages that compute the same micro-batches.
template <class Space>
struct StageGroup {
    PipelineStage stage = {};
    comm::Collectives<Space>* collectives = nullptr;  // among them, with the stages' numbers
    // Among the first and the last one, which both have the table of this name if it is tied; null
    // in other stages, and if there is no such table.
    comm::Collectives<Space>* ends = nullptr;
    std::string table = {};
};

constexpr const char* shared_table_label = "shared table";

// Adds over stages what concerns all of them: the losses, which the last stage has, the gradient's
// squares, and the two parts of a tied table's gradient, of which both ends get the sum. Call it
// when the ranks that read other rows have been added. If these share a replica, each has the sums
// of its part, and the parts of a table are the same at both ends.
template <class Ctx>
class StageSums {
public:
    using Space = typename Ctx::Space;

    // The store and what the group names must outlive the object.
    StageSums(Ctx& context, const StageGroup<Space>& group, const ParameterStore<Space>& store);

    void add(View<double, Space> losses);
    // Adds the squares of the whole model's gradient: each element counts once.
    void add_squares(View<kernels::ExactSum, Space> squares);

private:
    Ctx& context_;
    const StageGroup<Space> group_;
    std::vector<View<float, Space>> own_,
        table_;  // the owned gradient of the tied table, and others
};

}  // namespace lockstep::train

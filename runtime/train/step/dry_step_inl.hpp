// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "runtime/batch/lane_range.hpp"
#include "runtime/comm/taped_communicator.hpp"
#include "runtime/device/dry_context.hpp"
#include "runtime/kernels/dry/step_kernels.hpp"
#include "runtime/train/step/device_engine_inl.hpp"
#include "runtime/train/step/dry_step.hpp"

namespace lockstep::train {

// Returns the groups that a mesh asks for, in its order.
inline std::vector<comm::TapedPlace> taped_groups(const comm::MeshShape& mesh, int rank) {
    const comm::Coordinates here = comm::coordinates(mesh, rank);
    std::vector<comm::TapedPlace> groups;
    if (mesh.shard > 1 && mesh.replica > 1) {
        groups.push_back({comm::TapedGroup::shard, here.shard, mesh.shard});
        groups.push_back({comm::TapedGroup::replica, here.replica, mesh.replica});
    }
    return groups;
}

// Which part of the parameters a dry rank has.
struct DrySlice {
    ParameterTable whole = {};
    TensorSlice slice = {};
    PipelineStage stage = {};
    StagePasses<device::DrySpace>* passes = nullptr;  // of a stage: the model
    std::string table = {};  // a tied one's name, of which both ends have a copy
};

// Runs two steps whose micro-batches all have the shape of `batch`, and tells of the second. The
// options have the run's number of lanes, and the store is the rank's.
template <class Like>
DryStep dry_step(device::DryContext<Like>& context, const TrainOptions& options,
                 const DryRank& place, ForwardBackward& model,
                 const ParameterStore<device::DrySpace>& store, const Batch& batch,
                 const DrySlice& part = {}) {
    DryStep dry;
    dry.mesh = mesh_shape(place.ranks, store.table());
    comm::TapedCommunicator hosts(dry.tape, place.rank, place.ranks);
    comm::TapedCollectives<device::DrySpace> collectives(
        dry.tape, {comm::TapedGroup::world, place.rank, place.ranks},
        taped_groups(dry.mesh, place.rank));
    comm::TapedCollectives<device::DrySpace> tensor(
        dry.tape, {comm::TapedGroup::tensor, part.slice.rank, part.slice.size});
    TensorGroup<device::DrySpace> group;
    if (!part.slice.is_whole()) group = {part.slice, &tensor, &part.whole};
    comm::TapedCollectives<device::DrySpace> stages(
        dry.tape, {comm::TapedGroup::pipeline, part.stage.number, part.stage.stages});
    comm::TapedCollectives<device::DrySpace> ends(
        dry.tape, {comm::TapedGroup::pipeline, part.stage.is_first() ? 0 : 1, 2});
    StageGroup<device::DrySpace> beside{part.stage, &stages, nullptr, part.table};
    const bool is_end = part.stage.is_first() || part.stage.is_last();
    if (!part.table.empty() && is_end) beside.ends = &ends;
    Trace trace(Trace::Recording::off, place.rank);
    const LaneRange lanes = lanes_of_rank(options.lanes, place.rank, place.ranks);
    const std::vector<Batch> batches(static_cast<std::size_t>(lanes.count()), batch);
    DeviceEngine<device::DryContext<Like>> engine(
        options,
        {context, hosts, collectives, trace, model, store, nullptr, group, beside, part.passes});
    engine.restore({}, options.lanes);
    for (int step = 0; step < 2; ++step) {
        dry.tape.entries.clear();
        engine.queue({}, batches);
        (void)engine.take_result();
    }
    // What the engine's end waits for is not a step's.
    return {engine.memory(), std::exchange(dry.tape, {}), dry.mesh};
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/open_choices.hpp"

#include "launcher/options/memory_options.hpp"

namespace lockstep::launcher::plan {

namespace {

bool can_choose_moments(const RunConfig& config) {
    const train::OptimizerOptions& optimizer = config.train.optimizer;
    const bool offloads =
        config.given.contains("offload") && optimizer.offload == train::Offload::optimizer;
    return !config.given.contains("moments") && train::ranks_of_place(config.train) == 1 &&
           can_code_moments(optimizer) && !offloads;
}

std::vector<train::Offload> offloads_to_choose(const RunConfig& config, model::DeviceKind device,
                                               train::Master master) {
    train::OptimizerOptions optimizer = config.train.optimizer;
    if (can_choose_moments(config)) optimizer.moments = train::Moments::fp32;
    const bool possible = device == model::DeviceKind::gpu && train::can_offload(optimizer) &&
                          master != train::Master::none;
    if (config.given.contains("offload") || !possible) return {config.train.optimizer.offload};
    return {train::Offload::none, train::Offload::optimizer};
}

std::vector<int> stages_to_choose(const RunConfig& config, int data_ranks, train::Master master) {
    const train::ZeroOptions& zero = config.train.zero;
    if (config.given.contains("zero") || config.given.contains("ddp-backend")) return {zero.stage};
    std::vector<int> stages = possible_stages(config, data_ranks, master);
    const bool must_share = zero.ranks > 0 && stages.size() > 1;
    if (must_share) stages.erase(stages.begin());
    return stages;
}

}  // namespace

std::vector<int> possible_stages(const RunConfig& config, int data_ranks, train::Master master) {
    const int highest = train::highest_zero_stage(config.train.optimizer.kind);
    if (data_ranks == 1 || highest == 0) return {0};
    const bool fixed = config.train.reducer.lane_order == train::LaneOrder::fixed;
    if (fixed || highest == 1 || config.train.pipeline > 1) return {0, 1};
    return master == train::Master::none ? std::vector{0, 1, 2} : std::vector{0, 1, 2, 3};
}

FitChoices open_choices(const RunConfig& config, model::DeviceKind device, int data_ranks,
                        train::Master master) {
    FitChoices choices;
    choices.moments = {config.train.optimizer.moments};
    if (can_choose_moments(config)) choices.moments = {train::Moments::fp32, train::Moments::int8};
    if (config.given.contains("recompute") || config.checkpoint_activations)
        choices.recompute = config.recompute;
    choices.saving = {saving_of(config.train)};
    const bool on_disk = !config.train.optimizer.offload_dir.empty();
    if (!config.given.contains("async-save") && !on_disk && device == model::DeviceKind::cpu)
        choices.saving = {train::Saving::beside_training, train::Saving::training_waits};
    choices.stages = stages_to_choose(config, data_ranks, master);
    choices.offload = offloads_to_choose(config, device, master);
    return choices;
}

}  // namespace lockstep::launcher::plan

// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/report_json.hpp"

#include <nlohmann/json.hpp>

#include "model/config_json.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::launcher::plan {

namespace {

nlohmann::json batch_json(const BatchMemory& batch) {
    return {{"rows", batch.shape.sequences},
            {"source_tokens", batch.shape.source_total},
            {"target_tokens", batch.shape.target_total},
            {"activations_bytes", batch.activations}};
}

nlohmann::json epoch_json(const EpochFacts& facts) {
    return {{"rows", facts.rows},
            {"planned_rows", facts.planned_rows},
            {"truncated_rows", facts.truncated_rows},
            {"steps", facts.steps},
            {"micro_batches", facts.micro_batches},
            {"tokens", facts.tokens},
            {"filler_tokens", facts.filler},
            {"shapes", facts.shapes},
            {"largest", batch_json(facts.largest)}};
}

nlohmann::json size_json(const BatchSize& size) {
    return {{"option", size.option},
            {"asked", size.asked},
            {"fits", size.fits},
            {"most_tried", size.max_tried}};
}

nlohmann::json parts_json(const std::vector<Part>& parts) {
    auto list = nlohmann::json::array();
    for (const Part& part : parts)
        list.push_back(
            {{"name", part.name}, {"bytes", part.bytes}, {"exact", part.known == Known::exactly}});
    return list;
}

nlohmann::json levels_json(const RunPlan& plan) {
    auto list = nlohmann::json::array();
    for (const LevelMemory& level : plan.levels)
        list.push_back({{"recompute", model::name(level.plan)},
                        {"activations_bytes", level.activations},
                        {"total_bytes", level.total},
                        {"fits", level.total <= plan.device.bytes}});
    return list;
}

nlohmann::json stages_json(const RunPlan& plan) {
    auto list = nlohmann::json::array();
    for (const StageMemory& stage : plan.stages)
        list.push_back({{"zero", stage.stage},
                        {"total_bytes", stage.total},
                        {"sent_bytes", stage.sent},
                        {"fits", stage.total <= plan.device.bytes}});
    return list;
}

nlohmann::json shapes_json(const std::vector<model::SlowShape>& shapes) {
    auto list = nlohmann::json::array();
    for (const model::SlowShape& shape : shapes)
        list.push_back({{"what", shape.what}, {"better", shape.better}});
    return list;
}

}  // namespace

std::string report_json(const RunPlan& plan) {
    nlohmann::json report{{"model", parse_json(model::to_json(plan.model))},
                          {"parameters", plan.parameters},
                          {"precision", train::name(plan.precision)},
                          {"ranks", plan.ranks},
                          {"device", plan.device.name},
                          {"memory_bytes", plan.device.bytes},
                          {"memory_limit", plan.device.limit},
                          {"free_bytes", nullptr},
                          {"parts", parts_json(plan.parts)},
                          {"total_bytes", plan.total_bytes()},
                          {"moments", train::name(plan.moments)},
                          {"offload", train::name(plan.offload)},
                          {"recompute", model::name(plan.recompute)},
                          {"async_save", plan.saving == train::Saving::beside_training},
                          {"levels", levels_json(plan)},
                          {"zero", plan.stage},
                          {"stages", stages_json(plan)},
                          {"sent",
                           {{"weights", plan.sent.weights},
                            {"gradients", plan.sent.gradients},
                            {"replicas", plan.sent.replicas},
                            {"tensor", plan.sent.tensor},
                            {"pipeline", plan.sent.pipeline}}},
                          {"pipeline", plan.pipeline.stages},
                          {"pipeline_stage", plan.pipeline.number},
                          {"host_bytes", plan.host_bytes},
                          {"pinned_bytes", plan.pinned_bytes},
                          {"disk_bytes", plan.disk_bytes},
                          {"fits", plan.fits()},
                          {"largest_batch", batch_json(plan.batch)},
                          {"size", size_json(plan.size)},
                          {"slow_shapes", shapes_json(plan.slow_shapes)}};
    if (plan.device.free_bytes != unlimited) report["free_bytes"] = plan.device.free_bytes;
    if (plan.fitted) report["command"] = plan.command;
    if (plan.epoch) report["epoch"] = epoch_json(*plan.epoch);
    return dump_json(report, 2) + "\n";
}

}  // namespace lockstep::launcher::plan

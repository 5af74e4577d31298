// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/report_json.hpp"

#include <nlohmann/json.hpp>

#include "model/config_json.hpp"

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

}  // namespace

std::string report_json(const RunPlan& plan) {
    nlohmann::json report{{"model", nlohmann::json::parse(model::to_json(plan.model))},
                          {"parameters", plan.parameters},
                          {"precision", train::name(plan.precision)},
                          {"ranks", plan.ranks},
                          {"device", plan.machine.name},
                          {"memory_bytes", plan.machine.bytes},
                          {"memory_limit", plan.machine.limit},
                          {"free_bytes", nullptr},
                          {"parts", nlohmann::json::array()},
                          {"total_bytes", plan.total_bytes()},
                          {"moments", train::name(plan.moments)},
                          {"recompute", model::name(plan.recompute)},
                          {"async_save", plan.saving == train::Saving::beside_training},
                          {"levels", nlohmann::json::array()},
                          {"zero", plan.stage},
                          {"stages", nlohmann::json::array()},
                          {"host_bytes", plan.host_bytes},
                          {"fits", plan.fits()},
                          {"largest_batch", batch_json(plan.batch)},
                          {"size",
                           {{"option", plan.size.option},
                            {"asked", plan.size.asked},
                            {"fits", plan.size.fits},
                            {"most_tried", plan.size.max_tried}}},
                          {"slow_shapes", nlohmann::json::array()}};
    if (plan.machine.free_bytes != unlimited) report["free_bytes"] = plan.machine.free_bytes;
    for (const Part& part : plan.parts)
        report["parts"].push_back(
            {{"name", part.name}, {"bytes", part.bytes}, {"exact", part.known == Known::exactly}});
    for (const LevelMemory& level : plan.levels)
        report["levels"].push_back({{"recompute", model::name(level.plan)},
                                    {"activations_bytes", level.activations},
                                    {"total_bytes", level.total},
                                    {"fits", level.total <= plan.machine.bytes}});
    for (const StageMemory& stage : plan.stages)
        report["stages"].push_back({{"zero", stage.stage},
                                    {"total_bytes", stage.total},
                                    {"sent_bytes", stage.sent},
                                    {"fits", stage.total <= plan.machine.bytes}});
    for (const model::SlowShape& shape : plan.slow_shapes)
        report["slow_shapes"].push_back({{"what", shape.what}, {"better", shape.better}});
    if (plan.fitted) report["command"] = plan.command;
    if (plan.epoch) report["epoch"] = epoch_json(*plan.epoch);
    return report.dump(2) + "\n";
}

}  // namespace lockstep::launcher::plan

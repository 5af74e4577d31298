// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/trainer_state.hpp"

#include <nlohmann/json.hpp>

namespace lockstep::train {
namespace {

nlohmann::json optional_json(const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

std::optional<double> optional_number(const nlohmann::json& json) {
    if (json.is_null()) return std::nullopt;
    return json.get<double>();
}

nlohmann::json schedule_json(const ScheduleState& state) {
    return {{"factor", state.factor},
            {"bad_validations", state.bad_validations},
            {"validations", state.validations},
            {"best_loss", optional_json(state.best_loss)}};
}

nlohmann::json validation_json(const ValidationState& state) {
    return {{"best", optional_json(state.best)},
            {"without_better", state.without_better},
            {"last_updates", state.last_updates},
            {"last_epochs", state.last_epochs}};
}

nlohmann::json scale_json(const kernels::LossScale& scale) {
    return {{"value", scale.value}, {"steps", scale.steps}, {"last_overflow", scale.last_overflow}};
}

kernels::LossScale scale_of(const nlohmann::json& json) {
    return {json.at("value").get<float>(), json.at("steps").get<std::int64_t>(),
            json.at("last_overflow").get<std::int64_t>()};
}

}  // namespace

void to_json(nlohmann::json& json, const TrainerState& state) {
    json = {{"epoch", state.position.epoch},
            {"step_in_epoch", state.position.step_in_epoch},
            {"rows_in_epoch", state.position.rows_in_epoch},
            {"step", state.step},
            {"updates", state.updates},
            {"epochs", state.epochs},
            {"seed", state.seed},
            {"lanes", state.lanes},
            {"tokens", state.tokens},
            {"rows", state.rows},
            {"update_tokens", state.update_tokens},
            {"nonfinite_in_a_row", state.nonfinite_in_a_row},
            {"seconds", state.seconds},
            {"schedule", schedule_json(state.schedule)},
            {"validation", validation_json(state.validation)}};
    if (state.loss_scale) json["loss_scale"] = scale_json(*state.loss_scale);
}

void from_json(const nlohmann::json& json, TrainerState& state) {
    json.at("epoch").get_to(state.position.epoch);
    json.at("step_in_epoch").get_to(state.position.step_in_epoch);
    // Checkpoints of earlier versions do not have it.
    state.position.rows_in_epoch = json.value("rows_in_epoch", std::int64_t{-1});
    json.at("step").get_to(state.step);
    json.at("updates").get_to(state.updates);
    json.at("epochs").get_to(state.epochs);
    json.at("seed").get_to(state.seed);
    json.at("lanes").get_to(state.lanes);
    json.at("tokens").get_to(state.tokens);
    json.at("rows").get_to(state.rows);
    json.at("update_tokens").get_to(state.update_tokens);
    json.at("nonfinite_in_a_row").get_to(state.nonfinite_in_a_row);
    json.at("seconds").get_to(state.seconds);
    const auto& schedule = json.at("schedule");
    schedule.at("factor").get_to(state.schedule.factor);
    schedule.at("bad_validations").get_to(state.schedule.bad_validations);
    schedule.at("validations").get_to(state.schedule.validations);
    state.schedule.best_loss = optional_number(schedule.at("best_loss"));
    state.loss_scale.reset();
    if (json.contains("loss_scale")) state.loss_scale = scale_of(json.at("loss_scale"));
    const auto& validation = json.at("validation");
    state.validation.best = optional_number(validation.at("best"));
    validation.at("without_better").get_to(state.validation.without_better);
    validation.at("last_updates").get_to(state.validation.last_updates);
    validation.at("last_epochs").get_to(state.validation.last_epochs);
}

}  // namespace lockstep::train

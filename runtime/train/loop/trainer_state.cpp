// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/trainer_state.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/core/json_object.hpp"

namespace lockstep::train {
namespace {

nlohmann::json optional_json(const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json schedule_json(const ScheduleState& state) {
    return {{"factor", state.factor},
            {"bad_validations", state.bad_validations},
            {"validations", state.validations},
            {"best_loss", optional_json(state.best_loss)}};
}

nlohmann::json validation_json(const ValidationState& state) {
    nlohmann::json json = {{"best", optional_json(state.best)},
                           {"without_better", state.without_better},
                           {"last_updates", state.last_updates},
                           {"last_epochs", state.last_epochs}};
    if (state.last) json["last"] = *state.last;
    if (state.since_s > 0) json["since_s"] = state.since_s;
    return json;
}

nlohmann::json scale_json(const kernels::LossScale& scale) {
    return {{"value", scale.value}, {"steps", scale.steps}, {"last_overflow", scale.last_overflow}};
}

using Object = JsonObject<nlohmann::json>;

// Counts of more than these are from no run, and sums of them would overflow.
constexpr std::int64_t max_epochs = std::int64_t{1} << 40;
constexpr std::int64_t max_steps = std::int64_t{1} << 48;
constexpr std::int64_t max_tokens = std::int64_t{1} << 60;
constexpr std::int64_t max_lanes = std::int64_t{1} << 20;
constexpr double max_seconds = 1e12;
constexpr double largest_double = std::numeric_limits<double>::max();
constexpr int largest_int = std::numeric_limits<int>::max();

std::int64_t count(const Object& json, const char* name, std::int64_t max) {
    return json.whole<std::int64_t>(name, {0, max});
}

std::optional<double> optional_number(const Object& json, const char* name) {
    if (json.at(name).is_null()) return std::nullopt;
    return json.number(name, {-largest_double, largest_double});
}

kernels::LossScale scale_of(const Object& json) {
    constexpr double smallest = std::numeric_limits<float>::min();
    constexpr double largest = std::numeric_limits<float>::max();
    return {static_cast<float>(json.number("value", {smallest, largest})),
            count(json, "steps", max_steps),
            json.whole<std::int64_t>("last_overflow", {-1, max_steps})};
}

Position position_of(const Object& json) {
    Position position;
    position.epoch = count(json, "epoch", max_epochs);
    position.step_in_epoch = count(json, "step_in_epoch", max_steps);
    // Checkpoints of earlier versions do not have it.
    position.rows_in_epoch = json.has("rows_in_epoch")
                                 ? json.whole<std::int64_t>("rows_in_epoch", {-1, max_tokens})
                                 : -1;
    return position;
}

ScheduleState schedule_of(const Object& json) {
    constexpr double largest_factor = 1e6;
    ScheduleState state;
    state.factor = json.number("factor", {0, largest_factor});
    state.bad_validations = json.whole<int>("bad_validations", {0, largest_int});
    state.validations = count(json, "validations", max_steps);
    state.best_loss = optional_number(json, "best_loss");
    return state;
}

ValidationState validation_of(const Object& json) {
    ValidationState state;
    state.best = optional_number(json, "best");
    state.without_better = json.whole<int>("without_better", {0, largest_int});
    state.last_updates = count(json, "last_updates", max_steps);
    state.last_epochs = json.number("last_epochs", {0, static_cast<double>(max_epochs)});
    // Checkpoints of earlier versions do not have these.
    if (json.has("last")) state.last = optional_number(json, "last");
    if (json.has("since_s")) state.since_s = json.number("since_s", {0, max_seconds});
    return state;
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
    if (!state.ended.empty()) json["ended"] = state.ended;
    if (state.loss_scale) json["loss_scale"] = scale_json(*state.loss_scale);
}

TrainerState trainer_state_of(const nlohmann::json& member, const std::string& path) {
    const JsonOrigin origin{path, ""};
    const Object json(member, origin, "trainer");
    TrainerState state;
    state.position = position_of(json);
    state.step = count(json, "step", max_steps);
    state.updates = count(json, "updates", max_steps);
    state.epochs = json.number("epochs", {0, static_cast<double>(max_epochs)});
    state.seed = json.whole<std::uint64_t>("seed", {0, std::numeric_limits<std::uint64_t>::max()});
    state.lanes = json.whole<std::int64_t>("lanes", {1, max_lanes});
    state.tokens = count(json, "tokens", max_tokens);
    state.rows = count(json, "rows", max_tokens);
    state.update_tokens = count(json, "update_tokens", max_steps);
    state.nonfinite_in_a_row = json.whole<int>("nonfinite_in_a_row", {0, largest_int});
    state.seconds = json.number("seconds", {0, max_seconds});
    state.schedule = schedule_of(json.object("schedule"));
    if (json.has("loss_scale")) state.loss_scale = scale_of(json.object("loss_scale"));
    state.validation = validation_of(json.object("validation"));
    if (json.has("ended")) state.ended = json.text("ended");
    return state;
}

void from_json(const nlohmann::json& json, TrainerState& state) {
    state = trainer_state_of(json, "rank 0's state");
}

}  // namespace lockstep::train

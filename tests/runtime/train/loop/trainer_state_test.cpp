// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/trainer_state.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

using namespace lockstep;

TEST_CASE("a trainer state survives JSON text") {
    train::TrainerState state;
    state.position = {3, 17};
    state.step = 1234;
    state.updates = 1230;
    state.epochs = 3.1;
    state.seed = 0xFFFFFFFFFFFFFFFFull;
    state.lanes = 8;
    state.tokens = 1'000'000'007;
    state.rows = 77;
    state.update_tokens = 513;
    state.nonfinite_in_a_row = 2;
    state.seconds = 0.1;
    state.ended = "the time is over";
    state.schedule = {0.25, 2, 9, 1.0 / 3};
    state.validation = {std::nullopt, 4, 3.5, 1200, 2.9, 12.5};

    const auto text = dump_json(nlohmann::json(state));
    const auto back = parse_json(text).get<train::TrainerState>();
    CHECK(dump_json(nlohmann::json(back)) == text);
    CHECK(back.position.step_in_epoch == 17);
    CHECK(back.seed == state.seed);
    CHECK(back.schedule.best_loss == state.schedule.best_loss);
    CHECK_FALSE(back.validation.best.has_value());
    CHECK(back.validation.last == 3.5);
    CHECK(back.validation.since_s == 12.5);
    CHECK(back.ended == "the time is over");
    CHECK_FALSE(back.loss_scale.has_value());

    state.loss_scale = kernels::LossScale{0x1p14F, 321, 300};
    const auto scaled = parse_json(dump_json(nlohmann::json(state)));
    const auto scale = scaled.get<train::TrainerState>().loss_scale.value();
    CHECK(scale.value == 0x1p14F);
    CHECK(scale.steps == 321);
    CHECK(scale.last_overflow == 300);
}

TEST_CASE("a trainer state of an earlier version is read") {
    auto json = nlohmann::json(train::TrainerState{});
    json["validation"]["since_s"] = 3600;
    json["validation"]["last"] = 2.5;
    CHECK(json.get<train::TrainerState>().validation.since_s == 3600);
    CHECK(json.get<train::TrainerState>().validation.last == 2.5);
    json["validation"].erase("since_s");
    json["validation"].erase("last");
    CHECK(json.get<train::TrainerState>().validation.since_s == 0);
    CHECK_FALSE(json.get<train::TrainerState>().validation.last.has_value());
}

TEST_CASE("a trainer state whose member is missing or from no run is refused with its name") {
    const auto refused = [](const char* member, const nlohmann::json& value) {
        auto json = nlohmann::json(train::TrainerState{});
        json[nlohmann::json::json_pointer(member)] = value;
        CHECK_THROWS_WITH_AS(train::trainer_state_of(json, "m/state.json"),
                             doctest::Contains(("m/state.json: is damaged: \"trainer" +
                                                std::string(member) + "\" is not ")
                                                   .c_str()),
                             Error);
    };
    refused("/lanes", std::int64_t{1} << 62);
    refused("/lanes", 0);
    refused("/epoch", 1e308);
    refused("/step_in_epoch", -5);
    refused("/updates", "many");
    refused("/nonfinite_in_a_row", std::int64_t{1} << 32);
    refused("/schedule/factor", -1);
    refused("/schedule/best_loss", true);
    refused("/validation/since_s", -1);
    refused("/validation", nlohmann::json::array());
    auto json = nlohmann::json(train::TrainerState{});
    json.erase("updates");
    CHECK_THROWS_WITH_AS(train::trainer_state_of(json, "m/state.json"),
                         "m/state.json: is damaged: \"trainer/updates\" is missing", Error);
}

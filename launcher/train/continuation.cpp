// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/continuation.hpp"

#include <nlohmann/json.hpp>

#include "data/text/escaped_bytes.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// A checkpoint's position is only valid in the mixture of data sets that it was made with.
void require_same_mixture(const RunConfig& config, const std::string& then,
                          const std::string& now) {
    if (then == now) return;
    const auto told = [](const std::string& mixture) {
        return mixture.empty() ? "one data set" : mixture;
    };
    throw Error(ErrorKind::config, "--data: the run in " + config.model_file +
                                       " was started with " + told(then) + ", not with " +
                                       told(now) +
                                       "; continue with those, or start another -mf from it by "
                                       "--init-model");
}

// Another data set has other rows, so it cannot continue an epoch; it can begin one.
void require_data_set(const RunConfig& config, const train::Position& position,
                      const std::string& then, const std::string& now) {
    if (then.empty() || then == now || position.step_in_epoch == 0) return;
    throw Error(ErrorKind::config,
                "--data: the checkpoint in " + config.model_file + " is in the middle of epoch " +
                    std::to_string(position.epoch + 1) + " over " + then + ", not " + now +
                    "; finish the epoch with those, or start another -mf from "
                    "it by --init-model");
}

}  // namespace

Continuation continuation_of(const train::RunRecord& record) {
    const auto options = nlohmann::json::parse(record.options_json);
    Continuation found;
    found.trainer = record.trainer;
    found.mixture = data::unescape_bytes(options.value("data", ""));
    found.data_set = options.value("data_set", "");
    if (const auto dealing = options.find("dealing");
        dealing != options.end() && dealing->is_object())
        found.dealing = dealing->get<DealingRecord>();
    return found;
}

void to_json(nlohmann::json& json, const Continuation& continuation) {
    json = {{"trainer", continuation.trainer},
            {"data", data::escape_bytes(continuation.mixture)},
            {"data_set", continuation.data_set}};
    if (continuation.dealing) json["dealing"] = *continuation.dealing;
}

void from_json(const nlohmann::json& json, Continuation& continuation) {
    json.at("trainer").get_to(continuation.trainer);
    continuation.mixture = data::unescape_bytes(json.at("data").get<std::string>());
    json.at("data_set").get_to(continuation.data_set);
    if (const auto dealing = json.find("dealing"); dealing != json.end())
        continuation.dealing = dealing->get<DealingRecord>();
}

void require_continuable(const Continuation& continuation, const RunConfig& config,
                         const DataSets& data, const std::vector<double>& weights) {
    require_same_mixture(config, continuation.mixture, mixture_text(data, weights));
    require_data_set(config, continuation.trainer.position, continuation.data_set,
                     data_set_text(data));
}

}  // namespace lockstep::launcher

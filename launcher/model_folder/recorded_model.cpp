// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/recorded_model.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "launcher/model_folder/free_rates.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "model/config_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher {

namespace {

std::string value_or_none(const nlohmann::json& value) {
    return value.is_null()     ? "none"
           : value.is_string() ? value.get<std::string>()
                               : dump_json(value);
}

std::string state_beside(const std::string& weights) {
    return (std::filesystem::path(weights).parent_path() / train::state_file).string();
}

// Returns the JSON text; empty: nothing is recorded.
std::string recorded_text(const std::string& weights) {
    const auto metadata =
        train::retry_reading([&] { return train::SafetensorsFile(weights).metadata(); });
    if (const auto found = metadata.find(train::model_key); found != metadata.end())
        return found->second;
    const std::string state = state_beside(weights);
    if (!path_exists(state)) return "";
    const auto json = train::retry_reading([&] { return train::read_json(state); });
    return train::from_json_file(state, [&]() -> std::string {
        const auto& options = json.at("options");
        const auto model = options.find("model");
        return model == options.end() ? "" : model->dump();
    });
}

}  // namespace

std::optional<model::ModelConfig> recorded_model(const std::string& weights) {
    const std::string text = recorded_text(weights);
    if (text.empty()) return std::nullopt;
    try {
        return model::config_from_json(text, weights);
    } catch (const Error& error) {
        throw Error(ErrorKind::data, std::string(error.what()) + "; the file is damaged");
    }
}

std::string contradiction(const std::string& folder, const model::ModelConfig& config,
                          const std::string& weights) {
    auto recorded = recorded_model(weights);
    if (!recorded) return "";
    for (const FreeRate& rate : free_rates) (*recorded).*rate.value = config.*rate.value;
    recorded->lora.base = config.lora.base;  // it may have been moved
    const auto here = parse_json(model::to_json(config));
    const auto there = parse_json(model::to_json(*recorded));
    nlohmann::json members = there;
    members.update(here);
    const nlohmann::json none;
    for (const auto& [member, value] : members.items()) {
        const nlohmann::json is = here.value(member, none), was = there.value(member, none);
        if (is == was) continue;
        return train::description_path(folder) + ": \"" + member + "\" is " + value_or_none(is) +
               ", but " + weights + " was saved with " + value_or_none(was);
    }
    return "";
}

void require_recorded_model(const std::string& folder, const std::string& weights) {
    if (!holds_model(folder)) return;
    const std::string found = contradiction(folder, open_model_folder(folder).config, weights);
    if (!found.empty())
        throw Error(ErrorKind::config, found + "; write that back, or choose another --model-file");
}

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/stored_options.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "launcher/options/model_defaults.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"

namespace lockstep::launcher {

namespace {

// Paths are stored as they were typed, but a model's folder also knows them from anywhere.
std::vector<std::string> data_of(const std::string& model_folder) {
    const OptionValues defaults = stored_defaults(model_folder);
    const auto found = defaults.find("data");
    std::istringstream paths(found == defaults.end() ? "" : found->second);
    std::vector<std::string> data;
    for (std::string path; std::getline(paths, path);) data.push_back(path);
    return data;
}

}  // namespace

StoredOptions stored_options(const std::string& model_folder, const std::string& checkpoint) {
    const std::string path = checkpoint + "/state.json";
    const auto json = train::read_json(path);
    StoredOptions stored = train::from_json_file(path, [&] {
        StoredOptions found;
        found.checkpoint = checkpoint;
        const auto& options = json.at("options");
        if (const auto values = options.find("values"); values != options.end())
            values->get_to(found.values);
        found.lines = options.value("config", "");
        json.at("trainer").at("seed").get_to(found.seed);
        json.at("trainer").at("lanes").get_to(found.lanes);
        return found;
    });
    stored.data = data_of(model_folder);
    return stored;
}

void to_json(nlohmann::json& json, const StoredOptions& stored) {
    json = {{"checkpoint", stored.checkpoint},
            {"values", stored.values},
            {"lines", stored.lines},
            {"data", stored.data},
            {"seed", stored.seed},
            {"lanes", stored.lanes}};
}

void from_json(const nlohmann::json& json, StoredOptions& stored) {
    json.at("checkpoint").get_to(stored.checkpoint);
    json.at("values").get_to(stored.values);
    json.at("lines").get_to(stored.lines);
    json.at("data").get_to(stored.data);
    json.at("seed").get_to(stored.seed);
    json.at("lanes").get_to(stored.lanes);
}

}  // namespace lockstep::launcher

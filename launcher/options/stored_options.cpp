// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/stored_options.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "data/text/escaped_bytes.hpp"
#include "launcher/options/model_defaults.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/loop/trainer_state.hpp"

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

OptionValues unescaped(OptionValues values) {
    for (auto& [name, value] : values) value = data::unescape_bytes(value);
    return values;
}

std::vector<std::string> mapped(std::vector<std::string> texts,
                                std::string (*map)(std::string_view)) {
    for (std::string& text : texts) text = map(text);
    return texts;
}

}  // namespace

OptionValues escaped(OptionValues values) {
    for (auto& [name, value] : values) value = data::escape_bytes(value);
    return values;
}

StoredOptions stored_options(const std::string& model_folder, const std::string& checkpoint) {
    const std::string path = checkpoint + "/state.json";
    const auto json = train::read_json(path);
    StoredOptions stored = train::from_json_file(path, [&] {
        StoredOptions found;
        found.checkpoint = checkpoint;
        const auto& options = json.at("options");
        if (const auto values = options.find("values"); values != options.end())
            found.values = unescaped(values->get<OptionValues>());
        found.lines = data::unescape_bytes(options.value("config", ""));
        const auto state = train::trainer_state_of(nlohmann::json(json.at("trainer")), path);
        found.seed = state.seed;
        found.lanes = state.lanes;
        return found;
    });
    stored.data = data_of(model_folder);
    return stored;
}

void to_json(nlohmann::json& json, const StoredOptions& stored) {
    json = {{"checkpoint", stored.checkpoint},
            {"values", escaped(stored.values)},
            {"lines", data::escape_bytes(stored.lines)},
            {"data", mapped(stored.data, data::escape_bytes)},
            {"seed", stored.seed},
            {"lanes", stored.lanes}};
}

void from_json(const nlohmann::json& json, StoredOptions& stored) {
    json.at("checkpoint").get_to(stored.checkpoint);
    stored.values = unescaped(json.at("values").get<OptionValues>());
    stored.lines = data::unescape_bytes(json.at("lines").get<std::string>());
    stored.data = mapped(json.at("data").get<std::vector<std::string>>(), data::unescape_bytes);
    json.at("seed").get_to(stored.seed);
    json.at("lanes").get_to(stored.lanes);
}

}  // namespace lockstep::launcher

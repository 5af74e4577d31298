// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/stored_options.hpp"

#include <nlohmann/json.hpp>

#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"

namespace lockstep::launcher {

std::optional<StoredOptions> stored_options(const std::string& model_folder) {
    if (model_folder.empty()) return std::nullopt;
    const auto checkpoint = train::newest_good_checkpoint(model_folder);
    if (!checkpoint) return std::nullopt;
    const std::string path = *checkpoint + "/state.json";
    const auto json = train::read_json(path);
    return train::from_json_file(path, [&] {
        StoredOptions stored;
        stored.checkpoint = *checkpoint;
        const auto& options = json.at("options");
        if (const auto values = options.find("values"); values != options.end())
            values->get_to(stored.values);
        stored.lines = options.value("config", "");
        json.at("trainer").at("seed").get_to(stored.seed);
        json.at("trainer").at("lanes").get_to(stored.lanes);
        return stored;
    });
}

}  // namespace lockstep::launcher

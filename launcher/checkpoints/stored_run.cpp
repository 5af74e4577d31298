// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/stored_run.hpp"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/text/escaped_bytes.hpp"
#include "launcher/text/utc.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"

namespace lockstep::launcher::checkpoints {

namespace fs = std::filesystem;

namespace {

std::string text_of(const nlohmann::json& value) {
    if (value.is_string()) return data::unescape_bytes(value.get<std::string>());
    return dump_json(value);
}

void add_leaves(const nlohmann::json& json, const std::string& path,
                std::map<std::string, std::string>& found) {
    if (!json.is_object()) {
        found[path] = text_of(json);
        return;
    }
    for (const auto& [name, value] : json.items())
        add_leaves(value, path.empty() ? name : path + "." + name, found);
}

}  // namespace

std::map<std::string, std::string> leaves(const nlohmann::json& json) {
    std::map<std::string, std::string> found;
    if (json.is_object()) add_leaves(json, "", found);
    return found;
}

StoredRun read_stored_run(const std::string& checkpoint) {
    const std::string path = checkpoint + "/" + train::state_file;
    const nlohmann::json json = train::read_json(path);
    return train::from_json_file(path, [&] {
        StoredRun run;
        run.trainer = json.at("trainer").get<train::TrainerState>();
        run.state = leaves(json.at("trainer"));
        const nlohmann::json& options = json.at("options");
        if (options.contains("values")) run.options = leaves(options.at("values"));
        for (const char* name : {"data", "data_set", "data_content"})
            if (options.contains(name)) run.state[name] = text_of(options.at(name));
        for (const char* name : {"dealing", "model"})
            if (options.contains(name)) run.state.merge(leaves({{name, options[name]}}));
        run.versions = leaves(json.at("versions"));
        return run;
    });
}

std::string written_at(const std::string& path) {
    std::error_code failure;
    const fs::file_time_type time = fs::last_write_time(path, failure);
    if (failure) return "";
    return utc(std::chrono::time_point_cast<std::chrono::system_clock::duration>(
        std::chrono::file_clock::to_sys(time)));
}

// A checkpoint that has lost its manifest still has its name.
bool is_checkpoint(const std::string& path) {
    if (!is_folder(path)) return false;
    if (path_exists(path + "/" + train::manifest_file)) return true;
    const fs::path folder(path);
    std::string name = (folder.has_filename() ? folder : folder.parent_path()).filename();
    name = name.substr(0, name.find(train::damaged_mark));
    return train::is_checkpoint_name(name);
}

}  // namespace lockstep::launcher::checkpoints

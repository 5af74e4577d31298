// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/evaluation_report.hpp"

#include <nlohmann/json.hpp>

#include "launcher/command_line/command_line.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::launcher {

namespace {

using Json = nlohmann::ordered_json;

// An option with several values becomes a list, for example several data sets.
Json options_json(const std::string& lines) {
    Json options = Json::object();
    for (const auto& [name, value] : dumped_options(lines)) {
        Json& option = options[name];
        if (option.is_string()) option = Json::array({option});
        if (option.is_array())
            option.push_back(value);
        else
            option = value;
    }
    return options;
}

Json memory_json(const MemoryRecord& memory) {
    Json json = {{"peak_bytes", memory.peaks}};
    if (!memory.on_gpus.empty()) json["gpu_bytes"] = memory.on_gpus;
    if (memory.planned.empty()) return json;
    for (const plan::Part& part : memory.planned)
        json["parts"].push_back({{"name", part.name},
                                 {"bytes", part.bytes},
                                 {"exact", part.known == plan::Known::exactly}});
    json["total_bytes"] = plan::total(memory.planned);
    return json;
}

}  // namespace

std::string evaluation_report(const RunConfig& config,
                              const std::vector<std::pair<std::string, NamedValues>>& metrics,
                              std::optional<std::int64_t> finished_step,
                              const MemoryRecord& memory) {
    Json report = {{"opt", options_json(config.lines)}};
    for (const auto& [name, values] : metrics) report[name] = values;
    if (finished_step) report["finished_step"] = *finished_step;
    if (!memory.peaks.empty()) report["memory"] = memory_json(memory);
    return dump_json(report, 4) + "\n";
}

std::string report_path(const RunConfig& config) {
    const std::string& name = config.report_filename;
    if (!name.starts_with('.') || name.find('/') != std::string::npos) return name;
    std::string folder = config.model_file;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return folder + name;
}

}  // namespace lockstep::launcher

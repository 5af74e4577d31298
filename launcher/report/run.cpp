// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/run.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "launcher/command_line/command_line.hpp"
#include "launcher/text/utc.hpp"
#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher::report {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

std::string value_text(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    return dump_json(value);
}

std::string member(const Json& object, const char* name) {
    const bool there = object.is_object() && object.contains(name) && !object[name].is_null();
    return there ? value_text(object[name]) : "";
}

NamedTexts members(const Json& object) {
    NamedTexts texts;
    if (!object.is_object()) return texts;
    for (const auto& [name, value] : object.items()) texts.emplace_back(name, value_text(value));
    return texts;
}

// Returns a value that is not an object when the file is gone, damaged or no object.
Json json_if_any(const std::string& path) {
    try {
        return try_parse_ordered_json(read_json_text(path));
    } catch (const Error&) {
        return Json();
    }
}

std::string written(const fs::path& path) {
    std::error_code none;
    const auto time = fs::last_write_time(path, none);
    if (none) return "";
    return utc(std::chrono::time_point_cast<std::chrono::system_clock::duration>(
        std::chrono::file_clock::to_sys(time)));
}

std::int64_t integer(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

NamedTexts read_parts(const Json& options) {
    NamedTexts parts;
    if (!options.is_object() || !options.contains("parts")) return parts;
    for (const Json& part : options["parts"])
        parts.emplace_back(member(part, "step"), member(part, "changes"));
    return parts;
}

std::optional<SavedState> read_state(const std::string& folder) {
    const Json json = json_if_any(folder + "/state.json");
    if (!json.is_object() || !json.contains("trainer")) return std::nullopt;
    const Json& trainer = json["trainer"];
    SavedState state;
    state.step = integer(member(trainer, "step"));
    state.ended = member(trainer, "ended");
    if (trainer.is_object() && trainer.contains("validation"))
        state.without_better = integer(member(trainer["validation"], "without_better"));
    if (json.contains("options")) {
        state.options = dumped_options(member(json["options"], "config"));
        state.parts = read_parts(json["options"]);
    }
    if (json.contains("versions")) state.versions = members(json["versions"]);
    return state;
}

constexpr std::string_view step_mark = "step-";

bool is_checkpoint(const std::string& name) {
    return name.starts_with(step_mark) && name.size() > step_mark.size() &&
           name.find_first_not_of("0123456789", step_mark.size()) == std::string::npos;
}

Checkpoint measured(const fs::path& folder) {
    const std::string name = folder.filename();
    Checkpoint checkpoint{name, integer(name.substr(step_mark.size())), 0, written(folder)};
    std::error_code none;
    for (fs::directory_iterator at(folder, none); at != fs::directory_iterator();
         at.increment(none)) {
        const std::uintmax_t bytes = at->file_size(none);
        if (!none) checkpoint.bytes += bytes;
    }
    return checkpoint;
}

// Returns the checkpoints in the order of their steps.
std::vector<Checkpoint> read_checkpoints(const std::string& folder) {
    std::vector<Checkpoint> checkpoints;
    std::error_code none;
    for (fs::directory_iterator at(folder + "/checkpoints", none); at != fs::directory_iterator();
         at.increment(none)) {
        if (is_checkpoint(at->path().filename())) checkpoints.push_back(measured(at->path()));
    }
    std::sort(checkpoints.begin(), checkpoints.end(),
              [](const Checkpoint& a, const Checkpoint& b) { return a.step < b.step; });
    return checkpoints;
}

std::optional<SavedState> newest_state(const Run& run) {
    for (auto at = run.checkpoints.rbegin(); at != run.checkpoints.rend(); ++at) {
        auto state = read_state(run.folder + "/checkpoints/" + at->name);
        if (state) return state;
    }
    return std::nullopt;
}

std::optional<Failure> read_failure(const std::string& folder) {
    const Json json = json_if_any(folder + "/failure.json");
    if (!json.is_object()) return std::nullopt;
    return Failure{member(json, "report"), member(json, "time"),  member(json, "rank"),
                   member(json, "host"),   member(json, "cause"), member(json, "phase"),
                   member(json, "step"),   member(json, "error")};
}

std::int64_t whole_number(const Json& value) {
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::optional<RunMemory> read_memory(const std::string& folder) {
    const Json json = json_if_any(folder + "/report.json");
    if (!json.is_object() || !json.contains("memory") || !json["memory"].is_object())
        return std::nullopt;
    const Json& told = json["memory"];
    RunMemory memory;
    if (told.contains("parts"))
        for (const Json& part : told["parts"])
            if (part.is_object() && part.contains("bytes"))
                memory.parts.emplace_back(member(part, "name"), whole_number(part["bytes"]));
    const auto read = [&told](const char* name, std::vector<std::int64_t>& bytes) {
        if (told.contains(name))
            for (const Json& of_rank : told[name]) bytes.push_back(whole_number(of_rank));
    };
    read("peak_bytes", memory.peaks);
    read("gpu_bytes", memory.on_gpus);
    return memory;
}

}  // namespace

std::string text_of(const NamedTexts& texts, std::string_view name) {
    const auto found = std::find_if(texts.begin(), texts.end(),
                                    [&](const auto& text) { return text.first == name; });
    return found == texts.end() ? "" : found->second;
}

Run read_run(const std::string& folder, Abscissa abscissa) {
    const std::string config = train::description_path(folder);
    if (!is_folder(folder))
        throw Error(ErrorKind::config,
                    "-mf " + folder + ": is no folder; name a training run's -mf");
    if (!path_exists(config)) {
        throw Error(ErrorKind::config, "-mf " + folder +
                                           ": holds no model (no config.json); name a training "
                                           "run's -mf");
    }
    Run run;
    run.folder = folder;
    const std::string text = read_json_text(config);
    run.model = model::config_from_json(text, config);
    run.config = members(try_parse_ordered_json(text));
    run.parameters = model::parameter_table(run.model).count();
    run.history = read_history(folder, abscissa);
    run.last_line = written(folder + "/metrics.jsonl");
    run.checkpoints = read_checkpoints(folder);
    run.saved = newest_state(run);
    run.failure = read_failure(folder);
    run.memory = read_memory(folder);
    return run;
}

}  // namespace lockstep::launcher::report

// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/model_defaults.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/text/escaped_bytes.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/batching.hpp"
#include "launcher/options/tables.hpp"
#include "model/config_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

namespace {

bool replaced(const Option& option, const std::set<std::string>& given) {
    return given.contains(option.name) ||
           std::ranges::any_of(option.yields,
                               [&](const std::string& other) { return given.contains(other); });
}

// Relies on tables that show the values of a filled config as the options' defaults.
std::string value_of(const OptionTable& table, const std::string& name) {
    for (const Option& option : table.options()) {
        if (option.name == name) return option.default_text;
    }
    throw Error(ErrorKind::contract, "there is no option --" + name);
}

void add_batching(const RunConfig& config, OptionValues& values) {
    const data::BatchingOptions eval = eval_batching(config, config.model);
    if (eval.text_truncate > 0) values["text-truncate"] = std::to_string(eval.text_truncate);
    if (eval.label_truncate > 0) values["label-truncate"] = std::to_string(eval.label_truncate);
    if (eval.batch_tokens > 0) values["batch-tokens"] = std::to_string(eval.batch_tokens);
    values["eval-batchsize"] = std::to_string(eval.batchsize);
    RunConfig resolved = config;
    resolved.batch.dynamic = eval.dynamic;
    values["eval-dynamic-batching"] = value_of(batch_table(resolved), "dynamic-batching");
}

// `lockstep prepare` recorded its options under the same names.
void add_joining(const data::Dataset& dataset, OptionValues& values) {
    const auto options = try_parse_json(dataset.info().options);
    if (!options.is_object()) return;
    if (const auto size = options.find("history_size"); size != options.end())
        values["history-size"] = dump_json(*size);
    const auto delimiter = options.find("delimiter");
    if (delimiter != options.end() && delimiter->is_string())
        values["delimiter"] = delimiter->get<std::string>();
}

[[noreturn]] void damaged(const std::string& folder, const std::string& what) {
    throw Error(ErrorKind::config, train::description_path(folder) + ": \"defaults\" " + what +
                                       "; correct it, or remove it from the file");
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

}  // namespace

OptionValues model_defaults(const RunConfig& config, std::span<const data::Dataset> datasets) {
    OptionValues values;
    std::string paths;
    for (const data::Dataset& dataset : datasets) {
        const std::string path = std::filesystem::absolute(dataset.directory()).lexically_normal();
        paths += (paths.empty() ? "" : "\n") + path;
    }
    values["data"] = data::escape_bytes(paths);  // JSON holds UTF-8
    add_batching(config, values);
    add_joining(datasets.front(), values);
    RunConfig copy = config;
    const OptionTable generation = generation_table(copy);
    for (const Option& option : generation.options()) values[option.name] = option.default_text;
    if (config.precision != PrecisionChoice::automatic)
        values["precision"] = value_of(device_table(copy), "precision");
    return values;
}

train::ModelDescription describe(const model::ModelConfig& model, const RunConfig& config,
                                 std::span<const data::Dataset> datasets) {
    auto json = try_parse_ordered_json(model::to_json(model));
    json["defaults"] = model_defaults(config, datasets);
    return {dump_json(json), datasets.front().dictionary_hash(), model::to_json(model)};
}

OptionValues stored_defaults(const std::string& folder) {
    if (!holds_model(folder) || is_adapter_folder(folder) || is_huggingface_folder(folder))
        return {};
    const auto config = parse_json(train::read_description(folder).config_json);
    if (!config.contains("defaults")) return {};
    const auto& defaults = config["defaults"];
    if (!defaults.is_object()) damaged(folder, "is not an object");
    OptionValues values;
    for (const auto& [name, value] : defaults.items()) {
        if (!value.is_string()) damaged(folder, "has no text for \"" + name + "\"");
        values[name] = data::unescape_bytes(value.get<std::string>());
    }
    return values;
}

void apply_defaults(const OptionValues& defaults, const std::string& folder,
                    const std::vector<OptionTable>& tables, const std::set<std::string>& given) {
    for (const OptionTable& table : tables) {
        for (const Option& option : table.options()) {
            const auto found = defaults.find(option.name);
            if (found == defaults.end() || replaced(option, given)) continue;
            // A model may be a stranger's: no other option, such as the name of a file to write,
            // is taken from it.
            if (!option.has(Trait::model))
                throw Error(ErrorKind::config,
                            train::description_path(folder) + ": \"defaults\" has \"" +
                                option.name +
                                "\", which a model does not decide; remove it from the file");
            try {
                option.assign(option.arity == Arity::many ? lines_of(found->second)
                                                          : std::vector{found->second});
            } catch (const Error& error) {
                damaged(folder, std::string("has a value that does not fit: ") + error.what());
            }
        }
    }
}

void refuse_default(const std::string& problem, const OptionValues& defaults,
                    const std::string& folder, const std::vector<OptionTable>& tables,
                    const std::set<std::string>& given) {
    if (!problem.starts_with("--")) return;
    const std::string name = problem.substr(2, problem.find_first_of(": ") - 2);
    if (!defaults.contains(name)) return;
    for (const OptionTable& table : tables)
        for (const Option& option : table.options())
            if (option.name == name && !replaced(option, given))
                damaged(folder, "has a value that does not fit: " + problem);
}

}  // namespace lockstep::launcher

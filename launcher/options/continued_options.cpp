// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/continued_options.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/config_file.hpp"
#include "launcher/options/model_defaults.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

using Tables = std::vector<OptionTable>;

const Option* find(const Tables& tables, const std::string& name) {
    for (const OptionTable& table : tables)
        if (const auto found = std::ranges::find(table.options(), name, &Option::name);
            found != table.options().end())
            return &*found;
    return nullptr;
}

template <class Test>
bool any_option(const Tables& tables, const Test& test) {
    return std::ranges::any_of(tables, [&](const OptionTable& table) {
        return std::ranges::any_of(table.options(), test);
    });
}

bool taken(const std::string& name, const std::set<std::string>& given, const Tables& tables) {
    if (of_launch(name, tables) || given.contains(name)) return false;
    return !any_option(tables, [&](const Option& option) {
        return given.contains(option.name) &&
               std::ranges::find(option.replaced, name) != option.replaced.end();
    });
}

std::vector<std::string> stored_words(const std::string& name, const StoredOptions& stored) {
    if (name == "data" && !stored.data.empty()) return stored.data;
    std::vector<std::string> words;
    for (const auto& [option, value] : dumped_options(stored.lines))
        if (option == name) words.push_back(value);
    return words;
}

void set(const Option& option, const std::vector<std::string>& words,
         const std::string& checkpoint) {
    try {
        option.assign(words);
    } catch (const Error& error) {
        throw Error(ErrorKind::config, checkpoint + "/state.json: has a value that does not fit: " +
                                           std::string(error.what()) + "; give the option");
    }
}

void require_same(const std::string& option, std::uint64_t now, std::uint64_t then,
                  const RunConfig& config) {
    if (!config.given.contains(option) || now == then) return;
    throw Error(ErrorKind::config, "--" + option + " " + std::to_string(now) + ": the run in " +
                                       config.model_file + " was started with " +
                                       std::to_string(then) +
                                       "; leave the option out, or give another -mf");
}

// Describes which buffers an optimizer has for each parameter.
std::string buffers(const std::string& kind, bool amsgrad, bool momentum) {
    if (kind == "adam" || kind == "adamw") return amsgrad ? "adam, amsgrad" : "adam";
    if (kind == "sgd") return momentum ? "sgd, momentum" : "sgd";
    return kind;
}

std::string value(const std::map<std::string, std::string>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second;
}

std::string buffers_of(const std::map<std::string, std::string>& values) {
    const std::string momentum = value(values, "momentum");
    return buffers(value(values, "optimizer"), value(values, "amsgrad") == "true",
                   !momentum.empty() && momentum != "0");
}

// The saved buffers of the optimizer must be those that the run now needs.
void require_optimizer(const StoredOptions& stored, const RunConfig& config,
                       const std::map<std::string, std::string>& values) {
    if (stored.values.empty() || buffers_of(stored.values) == buffers_of(values)) return;
    for (const char* name : {"optimizer", "amsgrad", "momentum"}) {
        const std::string now = value(values, name), then = value(stored.values, name);
        if (now == then || !config.given.contains(name)) continue;
        throw Error(ErrorKind::config,
                    std::string("--") + name + " " + now + ": the run in " + config.model_file +
                        " was started with " + then +
                        ", whose saved state does not fit; leave the option out, or start another "
                        "-mf from it by --init-model");
    }
}

// Returns what the help of the option says of -1 ("(-1: no limit)"), and an empty text if the value
// is another one or the help does not say it.
std::string meaning_of(const std::string& name, const std::string& value, const Tables& tables) {
    const Option* option = value == "-1" ? find(tables, name) : nullptr;
    if (option == nullptr) return "";
    for (const std::string_view mark : {"(-1: ", "(<= 0: "}) {
        const std::size_t at = option->help.find(mark);
        if (at == std::string::npos) continue;
        const std::size_t begin = at + mark.size();
        return option->help.substr(begin, option->help.find(')', begin) - begin);
    }
    return "";
}

}  // namespace

bool of_launch(const std::string& name, const Tables& tables) {
    const Option* option = find(tables, name);
    return option != nullptr && option->has(Trait::launch);
}

void take_stored_options(const StoredOptions& stored, const std::vector<OptionTable>& tables,
                         RunConfig& config) {
    require_same("seed", config.train.seed, stored.seed, config);
    require_same("logical-shards", static_cast<std::uint64_t>(config.batch.logical_shards),
                 static_cast<std::uint64_t>(stored.lanes), config);
    std::string lines;
    for (const auto& [name, word] : dumped_options(stored.lines))
        if (taken(name, config.given, tables)) lines += config_line(name, word);
    // This option follows --adafactor-relative-step unless somebody gave it.
    const bool scale_given = lines.find("adafactor-scale-parameter = ") != std::string::npos;
    for (const OptionTable& table : tables)
        for (const Option& option : table.options()) {
            const auto found = stored.values.find(option.name);
            if (found == stored.values.end() || !taken(option.name, config.given, tables)) continue;
            const bool list = option.arity == Arity::many;
            const auto words =
                list ? stored_words(option.name, stored) : std::vector{found->second};
            if (words.empty() || (!list && found->second == option.default_text)) continue;
            // No word of --activation names the one that gpt2 always has, so its value is empty.
            if (!list && found->second.empty()) continue;
            set(option, words, stored.checkpoint);
        }
    if (scale_given) config.given.insert("adafactor-scale-parameter");
    config.lines = lines + config.lines;
}

namespace {

// Paths are compared as they are on this machine, because the run may be continued elsewhere.
bool same_data(const std::vector<std::string>& now, const StoredOptions& stored) {
    const auto path_of = [](const std::string& path) {
        const std::filesystem::path normal = std::filesystem::absolute(path).lexically_normal();
        return normal.has_filename() ? normal : normal.parent_path();
    };
    return std::ranges::equal(now, stored.data, {}, path_of, path_of);
}

std::string told(const std::string& name, const std::string& value,
                 const std::vector<OptionTable>& tables) {
    std::string means = meaning_of(name, value, tables);
    if (!means.empty()) return means;
    return value.empty() ? "none" : value;
}

bool differs(const Option& option, const StoredOptions& stored, const RunConfig& config,
             const std::map<std::string, std::string>& values) {
    if (option.name == "data" && same_data(config.data, stored)) return false;
    const auto then = stored.values.find(option.name);
    return then != stored.values.end() && then->second != value(values, option.name);
}

// Returns the stored options that a given one has replaced: "without --num-epochs 2".
std::vector<std::string> dropped_options(const StoredOptions& stored, const RunConfig& config,
                                         const std::vector<OptionTable>& tables,
                                         const std::map<std::string, std::string>& values) {
    std::vector<std::string> texts;
    for (const std::string& given : config.given) {
        const Option* option = find(tables, given);
        if (option == nullptr) continue;
        for (const std::string& name : option->replaced) {
            if (config.given.contains(name)) continue;
            const std::string now = value(values, name), then = value(stored.values, name);
            if (now == then || then.empty()) continue;
            const bool none = now == "-1" || now == "false";
            const std::string text =
                none ? "without --" + name + (then == "true" ? "" : " " + then)
                     : "--" + name + " " + now + " instead of " + told(name, then, tables);
            if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
        }
    }
    return texts;
}

}  // namespace

std::string changed_options(const StoredOptions& stored, const RunConfig& config,
                            const std::vector<OptionTable>& tables,
                            const std::map<std::string, std::string>& values) {
    require_optimizer(stored, config, values);
    std::vector<std::string> texts;
    for (const std::string& name : config.given) {
        const auto now = values.find(name), then = stored.values.find(name);
        if (now == values.end() || then == stored.values.end() || of_launch(name, tables)) continue;
        if (now->second == then->second) continue;
        if (name == "data" && same_data(config.data, stored)) continue;
        const std::string means = meaning_of(name, now->second, tables);
        texts.push_back("--" + name + " " + now->second +
                        (means.empty() ? "" : " (" + means + ")") + " instead of " +
                        told(name, then->second, tables));
    }
    for (std::string& text : dropped_options(stored, config, tables, values))
        texts.push_back(std::move(text));
    std::string text;
    for (const std::string& one : texts) text += (text.empty() ? "" : ", ") + one;
    return text;
}

ChangedOptions changed_kind(const StoredOptions& stored, const RunConfig& config,
                            const std::vector<OptionTable>& tables,
                            const std::map<std::string, std::string>& values) {
    if (config.changes.empty()) return ChangedOptions::none;
    const bool others = any_option(tables, [&](const Option& option) {
        return !option.has(Trait::launch) && !option.has(Trait::limit) &&
               differs(option, stored, config, values);
    });
    return others ? ChangedOptions::others : ChangedOptions::limits;
}

CountedAnew counted_anew(const StoredOptions& stored, const RunConfig& config,
                         const std::vector<OptionTable>& tables,
                         const std::map<std::string, std::string>& values) {
    const auto changed = [&](Trait trait) {
        return any_option(tables, [&](const Option& option) {
            return option.has(trait) && differs(option, stored, config, values);
        });
    };
    CountedAnew anew;
    anew.best = changed(Trait::metric);
    anew.validations = anew.best || changed(Trait::updates);
    anew.decays = changed(Trait::decays);
    return anew;
}

}  // namespace lockstep::launcher

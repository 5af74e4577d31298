// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/named_checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "launcher/model_folder/model_folder.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_of(const std::string& folder) {
    return train::checkpoints_among(train::names_in(train::checkpoints_of(folder)));
}

std::string best_weights(const std::string& folder) { return folder + "/" + train::weights_file; }

// Lists what --checkpoint can name, the newest first.
std::string choices(const std::string& folder) {
    constexpr std::size_t most = 10;
    const std::vector<std::string> names = names_of(folder);
    std::string list = path_exists(best_weights(folder)) ? best_checkpoint : "";
    const auto add = [&list](const std::string& word) {
        list += (list.empty() ? "" : ", ") + word;
    };
    if (!names.empty()) add(last_checkpoint);
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) add(names[i]);
    if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " older ones";
    return list;
}

[[noreturn]] void refuse(const std::string& folder, const std::string& word) {
    const std::string there = choices(folder);
    throw Error(ErrorKind::config,
                "--checkpoint " + shown(word) + ": " + folder + " has no such checkpoint; " +
                    (there.empty() ? "it has none yet: train with -mf " + folder + " first"
                                   : "it has " + there));
}

// Returns a name of the usual length for "150", "step-150" and "step-00000150".
std::optional<std::string> full_name(const std::string& word) {
    std::string name = word.starts_with("step-") ? word : "step-" + word;
    if (!train::is_checkpoint_name(name)) return std::nullopt;
    return train::checkpoint_name(train::step_of(name));
}

fs::path without_slash(const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    return normal.has_filename() ? normal : normal.parent_path();
}

// Returns the name that a path tells which leads to a checkpoint of this folder.
std::optional<std::string> name_of_path(const std::string& folder, const std::string& word) {
    if (word.find('/') == std::string::npos) return std::nullopt;
    const std::string name = without_slash(word).filename();
    std::error_code none;
    if (train::is_checkpoint_name(name) &&
        fs::equivalent(word, train::checkpoints_of(folder) + "/" + name, none))
        return name;
    return std::nullopt;
}

}  // namespace

std::string path_of_checkpoint(const std::string& folder, const std::string& word) {
    require_model(folder);
    if (word == best_checkpoint) {
        if (!path_exists(best_weights(folder))) refuse(folder, word);
        return best_weights(folder);
    }
    const std::vector<std::string> names = names_of(folder);
    if (word == last_checkpoint) {
        if (names.empty()) refuse(folder, word);
        return train::checkpoints_of(folder) + "/" + names.front();
    }
    const auto in_path = name_of_path(folder, word);
    const auto name = in_path ? in_path : full_name(word);
    if (!name || std::ranges::find(names, *name) == names.end()) refuse(folder, word);
    std::string path = train::checkpoints_of(folder) + "/" + *name;
    if (const std::string wrong = train::wrong_name(path); !wrong.empty())
        throw Error(ErrorKind::data, wrong);
    return path;
}

std::string instead_of_checkpoint(const std::string& path) {
    const fs::path typed = without_slash(path);
    std::error_code none;
    const fs::path whole = fs::absolute(typed, none);
    const std::string name = typed.filename();
    const fs::path checkpoints = whole.parent_path();
    if (none || !train::is_checkpoint_name(name) || checkpoints.filename() != "checkpoints" ||
        !holds_model(checkpoints.parent_path()))
        return "";
    const bool as_typed = typed.parent_path().has_parent_path();
    const fs::path model = (as_typed ? typed.parent_path() : checkpoints).parent_path();
    return "-mf " + model.string() + " --checkpoint step-" + std::to_string(train::step_of(name));
}

void require_no_checkpoint(const std::string& model_file) {
    if (instead_of_checkpoint(model_file).empty()) return;
    throw Error(ErrorKind::config,
                "-mf " + model_file +
                    ": is a checkpoint of a model; to continue its training, name the model's "
                    "folder; to begin another from it, give --init-model " +
                    model_file + " and a new -mf");
}

}  // namespace lockstep::launcher

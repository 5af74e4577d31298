// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/model_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "data/storage/foreign_tokenizer.hpp"
#include "data/storage/shard_format.hpp"
#include "data/text/git_lfs.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "runtime/train/folder/lock_file.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

constexpr std::array files{"config.json",
                           train::own_description_file,
                           train::weights_file,
                           "adapter_config.json",
                           "adapter_model.safetensors",
                           data::format::tokenizer_file,
                           data::format::dictionary_file,
                           data::format::sentencepiece_file,
                           data::format::foreign_tokenizer_file,
                           "metrics.jsonl",
                           "report.json",
                           "failure.json",
                           "ranks.json"};

[[noreturn]] void refuse(const std::string& path, const std::string& is, const char* wanted) {
    throw Error(ErrorKind::config, path + ": is " + is + ", but a model's folder has " + wanted +
                                       " of this name; give it another name, or choose another "
                                       "--model-file");
}

}  // namespace

void require_regular_files(const std::string& folder) {
    for (const char* name : files) {
        const std::string path = folder + "/" + name;
        if (const std::string kind = other_kind(path); !kind.empty()) refuse(path, kind, "a file");
    }
    const std::string checkpoints = train::checkpoints_of(folder);
    if (!path_exists(checkpoints) || is_folder(checkpoints)) return;
    const std::string kind = other_kind(checkpoints);
    refuse(checkpoints, kind.empty() ? "a file" : kind, "a folder");
}

void require_fetched_files(const std::string& folder) {
    std::error_code closed;
    for (fs::directory_iterator at(folder, closed); !closed && at != fs::directory_iterator();
         at.increment(closed)) {
        const fs::path& path = at->path();
        const bool is_of_a_model = path.extension() == ".safetensors" ||
                                   path.extension() == ".json" || path.extension() == ".model";
        std::error_code none;
        if (is_of_a_model && at->is_regular_file(none)) data::refuse_lfs_pointer(path);
    }
}

bool is_of_a_run(const std::string& name) {
    constexpr std::array<std::string_view, 3> beginnings{train::lock_name, "failure.json.",
                                                         "events.out.tfevents."};
    const auto is = [&](const char* one) { return name == one; };
    return fs::path(train::checkpoints_of("")).filename() == name ||
           name.find("-before-") != std::string::npos || name.find(".tmp-") != std::string::npos ||
           std::ranges::any_of(beginnings, [&](auto one) { return name.starts_with(one); }) ||
           std::ranges::any_of(files, is) ||
           std::ranges::any_of(data::format::foreign_tokenizer_files, is);
}

void require_other_file(const std::string& option, const std::string& path,
                        const std::string& folder) {
    if (path.empty() || folder.empty()) return;
    std::error_code unknown;
    const fs::path own = fs::weakly_canonical(fs::absolute(folder, unknown), unknown);
    const fs::path file = fs::weakly_canonical(fs::absolute(path, unknown), unknown);
    const std::string name = file.filename();
    const bool kept = is_of_a_run(name);
    const std::string checkpoints = train::checkpoints_of(own) + "/";
    const bool among_checkpoints = (file.string() + "/").starts_with(checkpoints);
    if (!(file.parent_path() == own && kept) && !among_checkpoints) return;
    throw Error(ErrorKind::config, option + " " + path +
                                       ": is a file of the model's folder, which it would "
                                       "overwrite; name another file");
}

// Half of a Hugging Face cache is links, which `cp -r` of a snapshot takes along without the files.
void refuse_broken_links(const std::string& folder) {
    std::error_code unknown;
    for (const char* name : {"config.json", "adapter_config.json", "adapter_model.safetensors",
                             train::weights_file, train::weight_index_file}) {
        const fs::path path = fs::path(folder) / name;
        if (!fs::is_symlink(path, unknown) || path_exists(path)) continue;
        throw Error(ErrorKind::config, path.string() + ": is a link to " +
                                           fs::read_symlink(path, unknown).string() +
                                           ", which does not exist; fetch the file again (cp -rL "
                                           "copies what links name)");
    }
}

std::string hub_hint(const std::string& name) {
    const fs::path path(name);
    const bool like_one = path.is_relative() && std::distance(path.begin(), path.end()) == 2 &&
                          !name.starts_with(".") && path.has_filename() &&
                          !path_exists(path.parent_path());
    return like_one ? "; a model of the Hugging Face Hub is fetched first: hf download " + name +
                          " --local-dir FOLDER"
                    : "";
}

std::string broken_link(const std::string& folder) {
    std::error_code unknown;
    for (fs::path path = folder; !path.empty() && !path_exists(path); path = path.parent_path()) {
        if (fs::symlink_status(path, unknown).type() == fs::file_type::symlink)
            return path.string() + " is a link to " + fs::read_symlink(path, unknown).string() +
                   ", which does not exist";
    }
    return "";
}

}  // namespace lockstep::launcher

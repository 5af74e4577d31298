// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "runtime/core/json_text.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/weights_file.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* dictionary_key = "dictionary_hash";

// Returns why the checkpoint is damaged; empty: it is good.
std::string damage_of(const std::string& path, Verify what) {
    std::string why;
    try {
        retry_reading([&] {
            verify_checkpoint(path, what);
            why = wrong_name(path);
        });
        return why;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        return error.what();
    }
}

// Looks once more at the checkpoints that were found damaged, because a network file system may
// show an old state of a folder for a moment.
void look_again(CheckpointChoice& choice, Verify what) {
    constexpr std::chrono::milliseconds pause(200);
    if (choice.damaged.empty()) return;
    std::this_thread::sleep_for(pause);
    for (std::size_t i = 0; i < choice.damaged.size(); ++i) {
        DamagedCheckpoint& damaged = choice.damaged[i];
        damaged.why = damage_of(damaged.path, what);
        if (!damaged.why.empty()) continue;
        choice.path = damaged.path;
        choice.damaged.resize(i);
        return;
    }
}

// Returns a free name for a damaged checkpoint.
std::string aside_name(const std::string& path) {
    std::string name = path + std::string(damaged_mark);
    for (int next = 2; path_exists(name); ++next)
        name = path + std::string(damaged_mark) + "-" + std::to_string(next);
    return name;
}

// Returns the name that the checkpoint has then. A container renames neither the folders of its
// image nor what is mounted there; such a checkpoint keeps its name.
std::string put_aside(const std::string& path) {
    const std::string aside = aside_name(path);
    try {
        rename_over(path, aside);
        return aside;
    } catch (const SystemFailure& failure) {
        if (failure.code() != EXDEV && failure.code() != EBUSY) throw;
        return path;
    }
}

}  // namespace

void save_description(const std::string& folder, const ModelDescription& description) {
    make_folders(folder);
    Json json = Json::parse(description.config_json);
    require(json.is_object(), "a model's options are a JSON object");
    json[dictionary_key] = description.dictionary_hash;
    const std::string own = dump_json(json, 1) + "\n";
    const std::string& foreign = description.transformers.config_json;
    // config.json makes the folder a model, so it comes last.
    if (!foreign.empty()) write_atomically(folder + "/" + own_description_file, own);
    write_atomically(folder + "/config.json", foreign.empty() ? own : foreign);
}

std::string description_path(const std::string& folder) {
    std::string own = folder + "/" + own_description_file;
    return path_exists(own) ? own : folder + "/config.json";
}

namespace {

void write_for_transformers(const std::string& path, const ModelDescription& description,
                            const ParameterTable& table, HostView<float> master, Metadata metadata,
                            const BeforeCommit& before_commit) {
    const auto tensors = file_layout(description.transformers.names, table.all());
    const FileWeights weights{
        table.all(), tensors,
        [&master](const Parameter& p, std::size_t first, HostView<float> values) {
            const auto from = master.subview(p.offset + first, values.size());
            std::copy(from.begin(), from.end(), values.begin());
        }};
    metadata[checksum_key] = checksum_of(weights);
    write_weights(path, weights, std::move(metadata), before_commit);
}

}  // namespace

void save_model(const std::string& folder, const ModelDescription& description,
                const ParameterTable& table, HostView<float> master,
                const BeforeCommit& before_commit) {
    if (before_commit) before_commit();
    save_description(folder, description);
    Metadata metadata;
    if (!description.arithmetic_json.empty()) metadata[model_key] = description.arithmetic_json;
    const std::string path = folder + "/" + weights_file;
    if (description.transformers.config_json.empty())
        write_model(path, places_of(table, master), before_commit, metadata);
    else
        write_for_transformers(path, description, table, master, std::move(metadata),
                               before_commit);
}

ModelDescription read_description(const std::string& folder) {
    const std::string path = description_path(folder);
    Json json = read_json(path);
    if (!json.empty() && !json.contains(dictionary_key) && !json.contains("n_encoder_layers"))
        throw Error(ErrorKind::config, path +
                                           ": was not written by Lockstep, so its folder is no "
                                           "model's of Lockstep; choose another folder");
    return from_json_file(path, [&] {
        ModelDescription description;
        description.dictionary_hash = json.at(dictionary_key).get<std::string>();
        json.erase(dictionary_key);
        description.config_json = dump_json(json);
        return description;
    });
}

std::string wrong_name(const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    if (!is_checkpoint_name(name)) return "";
    std::int64_t step = 0;
    try {
        read_json(path + "/" + state_file).at("trainer").at("step").get_to(step);
    } catch (const Json::exception&) {
        return "";
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        return "";
    }
    if (step_of(name) == step) return "";
    return path + "/" + state_file + ": trainer/step is " + std::to_string(step) +
           ", which is not the folder's name; call the folder " + checkpoint_name(step) +
           " if that name is free, or remove it";
}

CheckpointChoice choose_checkpoint(const std::string& model_folder, Verify what) {
    const std::string folder = checkpoints_of(model_folder);
    const std::vector<std::string> names = retry_reading([&] { return names_in(folder); });
    CheckpointChoice choice;
    for (const std::string& name : checkpoints_among(names)) {
        const std::string path = folder + "/" + name;
        const std::string why = damage_of(path, what);
        if (why.empty()) {
            choice.path = path;
            break;
        }
        choice.damaged.push_back({path, why});
    }
    look_again(choice, what);
    if (choice.path) return choice;
    const auto set_aside_before = std::ranges::find_if(names, [](const std::string& name) {
        return name.find(damaged_mark) != std::string::npos;
    });
    if (choice.damaged.empty() && set_aside_before == names.end()) return choice;
    const std::string first =
        choice.damaged.empty() ? folder + "/" + *set_aside_before : choice.damaged.front().why;
    throw Error(ErrorKind::data, folder + ": no checkpoint there is good (" + first +
                                     "); give another -mf to begin anew, or remove " + folder +
                                     ": a run then begins at step 0, with the weights in " +
                                     model_folder + "/" + weights_file + " if there are any");
}

std::optional<std::string> newest_good_checkpoint(const std::string& model_folder) {
    return choose_checkpoint(model_folder).path;
}

std::string damage_text(const CheckpointChoice& choice) {
    std::string text;
    for (const DamagedCheckpoint& damaged : choice.damaged)
        text += (text.empty() ? "" : "; ") + damaged.path + " (" + damaged.why + ")";
    return text;
}

void set_aside(const CheckpointChoice& choice, Log& log) {
    std::string told;
    for (const DamagedCheckpoint& damaged : choice.damaged) {
        followed_path(fs::path(damaged.path).parent_path());
        const std::string now = put_aside(damaged.path);
        told += (told.empty() ? "" : "; ") + now + " (" + damaged.why + ")";
    }
    if (!told.empty())
        log.error("warning: damaged checkpoints were set aside and are not used: " + told);
}

CheckpointFolder::CheckpointFolder(const std::string& model_folder, const KeepPolicy& keep,
                                   Log& log)
    : folder_(checkpoints_of(model_folder)), keep_(keep), log_(log) {}

void CheckpointFolder::commit_after(BeforeCommit check) { check_ = std::move(check); }

void CheckpointFolder::trust(const std::string& path) {
    good_.insert(fs::path(path).filename().string());
}

void CheckpointFolder::save(const RunTensors& tensors, const RunRecord& record) {
    const std::string path = prepare(record.trainer.step);
    write_with_room([&] { save_checkpoint(path, tensors, record, check_); });
    accept(record.trainer.step);
}

std::string CheckpointFolder::prepare(std::int64_t step) {
    if (check_) check_();
    followed_path(folder_);  // throws for a link of another user
    make_folders(folder_);
    remove_leftovers(folder_);  // first, because they may fill the disk
    return folder_ + "/" + checkpoint_name(step);
}

void CheckpointFolder::accept(std::int64_t step) {
    const std::string saved = checkpoint_name(step);
    good_.insert(saved);
    try {
        remove_older_than(saved);
    } catch (const Error& error) {
        log_.info(std::string("older checkpoints are not removed: ") + error.what());
    }
}

void CheckpointFolder::write_with_room(const std::function<void()>& write) {
    std::vector<std::string> removed;
    try {
        while (!written(write, removed)) {
        }
    } catch (...) {
        tell_of_removed(removed);
        throw;
    }
    tell_of_removed(removed);
}

// Returns false if a checkpoint went, so that there may be room now.
bool CheckpointFolder::written(const std::function<void()>& write,
                               std::vector<std::string>& removed) {
    try {
        write();
        return true;
    } catch (const SystemFailure& failure) {
        if (!disk_is_full(failure.code()) || !make_room(removed)) throw;
        return false;
    }
}

bool CheckpointFolder::make_room(std::vector<std::string>& removed) {
    if (removed.empty() && !newest_verifies()) return false;
    const std::string name = remove_oldest();
    if (name.empty()) return false;
    removed.push_back(name);
    return true;
}

void CheckpointFolder::tell_of_removed(const std::vector<std::string>& names) {
    if (names.empty()) return;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    log_.info(folder_ + ": the disk is full, so older checkpoints were removed: " + list);
}

bool CheckpointFolder::newest_verifies() const {
    const std::string newest = newest_good();
    if (newest.empty()) return false;
    try {
        verify_checkpoint(newest);
        return true;
    } catch (const Error&) {
        return false;
    }
}

// Removes the oldest checkpoint that is older than the newest good one, and returns its name;
// empty: there is none that could be removed.
std::string CheckpointFolder::remove_oldest() {
    if (check_) check_();
    const std::string newest = newest_good();
    std::vector<std::string> all = paths();
    const auto older = std::ranges::find(all, newest);
    while (older != all.end() && all.back() != newest) {
        const std::string oldest = all.back();
        all.pop_back();
        const std::string name = fs::path(oldest).filename().string();
        if (is_kept_for_ever(name)) continue;
        return remove(oldest) ? name : "";
    }
    return "";
}

std::string CheckpointFolder::newest_good() const {
    const std::vector<std::string> names(good_.begin(), good_.end());
    const auto newest_first = checkpoints_among(names);
    return newest_first.empty() ? "" : folder_ + "/" + newest_first.front();
}

bool CheckpointFolder::is_kept_for_ever(const std::string& name) const {
    return keep_.every_n_steps > 0 && step_of(name) % keep_.every_n_steps == 0;
}

// Later checkpoints belong to a run that had come further, so they stay.
void CheckpointFolder::remove_older_than(const std::string& saved) {
    int kept = 0;
    bool later = true;
    for (const std::string& name : checkpoints_among(names_in(folder_))) {
        later = later && name != saved;
        if (later) continue;
        if (kept < keep_.newest) {
            if (good_.contains(name)) ++kept;
        } else if (!is_kept_for_ever(name)) {
            remove(folder_ + "/" + name);
            good_.erase(name);
        }
    }
}

// The checkpoint loses its name first: nobody shall find one of which some files are gone. A kill
// on the way leaves a leftover, which the next save removes. Another user may have put a link in
// the folder's place since prepare().
bool CheckpointFolder::remove(const std::string& path) {
    followed_path(folder_);
    const std::string leftover = leftover_name(path);
    std::error_code failure;
    fs::rename(path, leftover, failure);
    // An overlay of a container does not rename the folders of its image. Without its manifest the
    // checkpoint is a damaged one until all of it is gone.
    const bool keeps_name = failure == std::errc::cross_device_link;
    if (keeps_name) fs::remove(path + "/" + manifest_file, failure);
    if (!failure) fs::remove_all(keeps_name ? path : leftover, failure);
    // NFS keeps a file that somebody reads under another name; a later save removes the folder.
    if (failure == std::errc::directory_not_empty) failure.clear();
    if (failure) log_.info(path + ": an old checkpoint cannot be removed: " + failure.message());
    return !failure;
}

std::vector<std::string> CheckpointFolder::paths() const {
    std::vector<std::string> paths;
    for (const std::string& name : checkpoints_among(names_in(folder_)))
        paths.push_back(folder_ + "/" + name);
    return paths;
}

}  // namespace lockstep::train

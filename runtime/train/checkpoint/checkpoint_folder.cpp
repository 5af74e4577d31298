// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/train/checkpoint/atomic_file.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view prefix = "step-";
constexpr const char* dictionary_key = "dictionary_hash";

std::string checkpoints_of(const std::string& model_folder) {
    return model_folder + "/checkpoints";
}

// Returns a name with eight digits, so that names sort by step; a longer number sorts by its
// length.
std::string folder_name(std::int64_t step) {
    std::string digits = std::to_string(step);
    digits.insert(0, digits.size() < 8 ? 8 - digits.size() : 0, '0');
    return std::string(prefix) + digits;
}

bool is_checkpoint_name(const std::string& name) {
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

[[noreturn]] void fail_to_list(const std::string& folder, const std::error_code& failure) {
    throw Error(ErrorKind::io,
                folder + ": cannot be read: " + failure.message() +
                    "; nothing was changed: make this folder readable for the user of the run, or "
                    "choose another --model-file");
}

// Only a folder that surely does not exist has no checkpoints. A link to a folder that is not there
// may lead to a disk that is not mounted.
bool is_absent(const std::string& folder, const std::error_code& failure) {
    std::error_code ignored;
    return failure == std::errc::no_such_file_or_directory &&
           fs::symlink_status(folder, ignored).type() == fs::file_type::not_found;
}

std::vector<std::string> checkpoint_paths(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure);
         !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        if (is_checkpoint_name(entry->path().filename().string())) {
            paths.push_back(entry->path().string());
        }
    }
    if (failure && !is_absent(folder, failure)) fail_to_list(folder, failure);
    std::ranges::sort(paths, std::ranges::greater{},
                      [](const std::string& path) { return std::pair(path.size(), path); });
    return paths;
}

// Returns the newest checkpoint that verifies. `pass_over` is called for each damaged one.
template <class PassOver>
std::optional<std::string> newest_good_in(const std::string& folder, PassOver pass_over) {
    const std::vector<std::string> paths = checkpoint_paths(folder);
    for (const std::string& path : paths) {
        try {
            verify_checkpoint(path);
            return path;
        } catch (const Error& error) {
            pass_over(path, error);
        }
    }
    if (paths.empty()) return std::nullopt;
    throw Error(ErrorKind::data, folder + ": no checkpoint there is good; remove them to begin " +
                                     "anew, or choose another --model-file");
}

}  // namespace

void save_description(const std::string& folder, const ModelDescription& description) {
    make_folders(folder);
    Json json = Json::parse(description.config_json);
    require(json.is_object(), "a model's options are a JSON object");
    json[dictionary_key] = description.dictionary_hash;
    write_atomically(folder + "/config.json", json.dump(1) + "\n");
}

void save_model(const std::string& folder, const ModelDescription& description,
                const ParameterTable& table, HostView<float> master) {
    save_description(folder, description);
    write_places(folder + "/model.safetensors", places_of(table, master));
}

ModelDescription read_description(const std::string& folder) {
    const std::string path = folder + "/config.json";
    Json json = read_json(path);
    return from_json_file(path, [&] {
        ModelDescription description;
        description.dictionary_hash = json.at(dictionary_key).get<std::string>();
        json.erase(dictionary_key);
        description.config_json = json.dump();
        return description;
    });
}

std::optional<std::string> newest_good_checkpoint(const std::string& model_folder) {
    return newest_good_in(checkpoints_of(model_folder), [](const auto&, const Error&) {});
}

CheckpointFolder::CheckpointFolder(const std::string& model_folder, int keep, Log& log)
    : folder_(checkpoints_of(model_folder)), keep_(std::max(keep, 1)), log_(log) {}

void CheckpointFolder::save(const RunTensors& tensors, const RunRecord& record) {
    make_folders(folder_);
    remove_leftovers(folder_);  // first, because they may fill the disk
    const std::string saved = folder_ + "/" + folder_name(record.trainer.step);
    save_checkpoint(saved, tensors, record);
    int kept = 0;
    bool later = true;
    for (const std::string& path : paths()) {
        later = later && path != saved;
        if (later || kept == keep_) {
            remove(path);
        } else {
            ++kept;
        }
    }
}

void CheckpointFolder::remove(const std::string& path) {
    std::error_code failure;
    fs::remove_all(path, failure);
    if (failure) log_.info(path + ": an old checkpoint cannot be removed: " + failure.message());
}

std::vector<std::string> CheckpointFolder::paths() const { return checkpoint_paths(folder_); }

std::optional<std::string> CheckpointFolder::newest_good() const {
    return newest_good_in(folder_, [&](const std::string& path, const Error& error) {
        log_.info(path + ": not used, the next older one is tried: " + error.what());
    });
}

FolderSink::FolderSink(int rank, const std::string& model_folder, int keep, Log& log,
                       std::function<RunTensors()> fetch, ModelDescription description,
                       RunRecord record)
    : rank_(rank),
      model_folder_(model_folder),
      checkpoints_(model_folder, keep, log),
      fetch_(std::move(fetch)),
      description_(std::move(description)),
      record_(std::move(record)) {}

void FolderSink::save(CheckpointKind kind, const TrainerState& state) {
    if (rank_ != 0) return;
    const RunTensors tensors = fetch_();
    if (kind == CheckpointKind::best) {
        save_model(model_folder_, description_, tensors.table, tensors.master);
        return;
    }
    record_.trainer = state;
    checkpoints_.save(tensors, record_);
}

}  // namespace lockstep::train

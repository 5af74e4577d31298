// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/verification.hpp"

#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "data/text/git_lfs.hpp"
#include "launcher/checkpoints/huggingface_weights.hpp"
#include "launcher/checkpoints/stored_run.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/huggingface_folder.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/model_folder/recorded_model.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "model/huggingface_config.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/stored_tensors.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

// Runs `action`, whose failure is a finding. Returns whether there was none.
template <class Action>
bool found_good(Verified& verified, Action action) {
    try {
        train::retry_reading(action);
        return true;
    } catch (const Error& error) {
        verified.findings.emplace_back(error.what());
        return false;
    }
}

void check_values(const std::string& path, train::StoredTensors& stored, Verified& verified) {
    for (const train::StoredTensor& tensor : stored.tensors()) {
        std::size_t bad = 0;
        train::for_each_block(stored, tensor, [&](HostView<const float> values) {
            for (const float value : values) bad += train::is_possible(tensor.name, value) ? 0 : 1;
        });
        if (bad > 0)
            verified.findings.push_back(
                path + ": " + tensor.name + " has " + std::to_string(bad) + " of " +
                std::to_string(tensor.count) +
                " values that are not finite, or negative means of squares");
        ++verified.tensors;
    }
}

// The model folder of what is verified, if it is in one whose config.json can be read.
struct ModelFolder {
    std::string path;
    model::ModelConfig config;
};

// Only weights where a run keeps them must fit the folder's config.json.
std::optional<ModelFolder> home_of(const std::string& weights) {
    namespace fs = std::filesystem;
    std::error_code unknown;
    const fs::path file = fs::absolute(weights, unknown).lexically_normal();
    if (file.filename() != train::weights_file) return std::nullopt;
    fs::path folder = file.parent_path();
    if (folder.parent_path().filename() == "checkpoints")
        folder = folder.parent_path().parent_path();
    try {
        if (holds_model(folder)) return ModelFolder{folder, open_model_folder(folder).config};
    } catch (const Error&) {  // config.json is verified for itself
    }
    return std::nullopt;
}

void require_fitting_home(const std::string& weights) {
    const auto home = home_of(weights);
    if (!home) return;
    (void)recorded_model(weights);  // throws if what the file says of its model is damaged
    require_fitting(home->config, home->path, weights);
}

// A checkpoint that is no model folder's may have any name.
void require_own_name(const std::string& path) {
    if (std::filesystem::path(path).parent_path().filename() != "checkpoints") return;
    const std::string wrong = train::wrong_name(path);
    if (!wrong.empty()) throw Error(ErrorKind::data, wrong);
}

void look_at_checkpoint(const std::string& path, Verified& verified) {
    train::Manifest manifest;
    if (!found_good(verified, [&] { manifest = train::read_manifest(path); })) return;
    bool state_is_whole = true;
    for (const train::ListedFile& file : manifest.files) {
        const bool good = found_good(verified, [&] { train::verify_file(path, file); });
        if (file.name == train::state_file) state_is_whole = good;
        verified.bytes += file.bytes;
        ++verified.files;
    }
    if (state_is_whole) {
        found_good(verified, [&] { (void)read_stored_run(path); });
        found_good(verified, [&] { require_own_name(path); });
    }
    if (!verified.findings.empty()) return;  // they say more than the tensors would
    found_good(verified, [&] { require_fitting_home(path + "/" + train::weights_file); });
    found_good(verified, [&] {
        train::StoredTensors stored(path);
        check_values(path, stored, verified);
    });
}

// Returns a number that is another one when another folder has got the name; 0: there is none.
ino_t identity(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

// A run may remove or replace the checkpoint at any time. What was found then says nothing about
// it.
Verified verify_checkpoint(const std::string& path) {
    constexpr std::chrono::milliseconds pause(200);
    for (;;) {
        const ino_t before = identity(path);
        Verified verified;
        verified.path = path;
        look_at_checkpoint(path, verified);
        if (verified.findings.empty()) return verified;
        std::this_thread::sleep_for(pause);
        const ino_t after = identity(path);
        verified.verdict = Verdict::bad;
        if (after == 0) {
            verified.verdict = Verdict::gone;
            verified.findings.clear();
        }
        if (after == before || after == 0) return verified;
    }
}

Verified look_at_file(const std::string& path) {
    Verified verified;
    verified.path = path;
    verified.files = 1;
    found_good(verified, [&] {
        data::refuse_lfs_pointer(path);
        train::StoredTensors stored(path);
        verified.bytes = std::filesystem::file_size(path);
        if (!stored.has_checksum())
            verified.note = "it has no checksum, so only its structure and values were checked";
        stored.verify();
        require_fitting_home(path);
        check_values(path, stored, verified);
    });
    if (!verified.findings.empty()) verified.verdict = Verdict::bad;
    return verified;
}

// The file and the config.json beside it may be replaced meanwhile. A finding is then perhaps
// about one of before and one of after.
Verified verify_file(const std::string& path) {
    const std::string config = std::filesystem::path(path).parent_path() / "config.json";
    for (;;) {
        const ino_t file_before = identity(path), config_before = identity(config);
        Verified verified = look_at_file(path);
        if (verified.findings.empty() ||
            (identity(path) == file_before && identity(config) == config_before))
            return verified;
    }
}

void require_tensors(const std::string& path, const std::set<std::string>& wanted) {
    if (wanted.empty()) return;
    std::set<std::string> missing = wanted;
    train::StoredTensors stored(path);
    for (const train::StoredTensor& tensor : stored.tensors()) missing.erase(tensor.name);
    if (!missing.empty())
        throw Error(ErrorKind::data, path + ": lacks " + *missing.begin() +
                                         (missing.size() > 1 ? " and more tensors" : "") +
                                         ", which the index names; download the model again");
}

// Verifies the files with the weights of transformers one after the other, as far as they are
// there.
void verify_huggingface_weights(const std::string& folder,
                                const std::function<void(const Verified&)>& tell) {
    HuggingfaceWeights weights;
    Verified found;
    found.path = folder;
    found_good(found, [&] { weights = huggingface_weights(folder); });
    // The parts of a tensor may lie in several files, which are therefore read together.
    const std::string index = folder + "/" + train::weight_index_file;
    const bool in_parts = !path_exists(folder + "/" + train::weights_file) && path_exists(index);
    if (in_parts && found.findings.empty() && weights.findings.empty()) {
        Verified verified = verify_file(index);
        verified.files = static_cast<std::int64_t>(weights.files.size());
        verified.bytes = 0;
        for (const auto& file : weights.files)
            verified.bytes += std::filesystem::file_size(file.first);
        return tell(verified);
    }
    for (const auto& file : weights.files) {
        Verified verified = verify_file(file.first);
        if (verified.findings.empty() &&
            !found_good(verified, [&] { require_tensors(file.first, file.second); }))
            verified.verdict = Verdict::bad;
        tell(verified);
    }
    found.findings.insert(found.findings.end(), weights.findings.begin(), weights.findings.end());
    if (found.findings.empty()) return;
    found.verdict = Verdict::bad;
    tell(found);
}

// What is wrong with the weights themselves is told with them.
void require_no_contradiction(const std::string& folder, const model::ModelConfig& config,
                              const std::string& weights) {
    std::string found;
    try {
        if (path_exists(weights)) found = contradiction(folder, config, weights);
    } catch (const Error&) {
        return;
    }
    if (!found.empty()) throw Error(ErrorKind::data, found);
}

Verified verify_description(const std::string& folder, const std::vector<std::string>& names) {
    Verified verified;
    verified.path = is_adapter_folder(folder) ? folder + "/" + adapter_config_file
                                              : train::description_path(folder);
    verified.files = 1;
    found_good(verified, [&] {
        check_defaults(folder);
        if (const std::string foreign = huggingface_config_in(folder); !foreign.empty())
            (void)model::config_from_huggingface(foreign, folder + "/config.json");
        const OpenedModel opened = open_model_folder(folder);
        std::vector<std::string> weights{folder};
        for (const std::string& name : train::checkpoints_among(names))
            weights.push_back(train::checkpoints_of(folder) + "/" + name);
        for (const std::string& place : weights)
            require_no_contradiction(folder, opened.config, place + "/" + train::weights_file);
    });
    if (!verified.findings.empty()) verified.verdict = Verdict::bad;
    return verified;
}

Verified skipped(const std::string& path) {
    Verified verified;
    verified.path = path;
    verified.verdict = Verdict::skipped;
    return verified;
}

// Verifies the parts of a model folder one after the other.
bool verify_model(const std::string& folder, const std::function<void(const Verified&)>& told) {
    bool good = true;
    const auto tell = [&](const Verified& verified) {
        good = good && verified.verdict != Verdict::bad;
        told(verified);
    };
    const std::string checkpoints = train::checkpoints_of(folder);
    const auto names = train::retry_reading([&] { return train::names_in(checkpoints); });
    if (holds_model(folder)) tell(verify_description(folder, names));
    const std::string weights = folder + "/" + train::weights_file;
    const auto is_foreign = [&] {
        return is_huggingface_folder(folder) && !is_adapter_folder(folder);
    };
    if (holds_model(folder) && train::retry_reading(is_foreign))
        verify_huggingface_weights(folder, tell);
    else if (path_exists(weights))
        tell(verify_file(weights));
    if (const std::string adapters = folder + "/" + adapter_weights_file; path_exists(adapters))
        tell(verify_file(adapters));
    for (const std::string& name : train::checkpoints_among(names))
        tell(verify_checkpoint(checkpoints + "/" + name));
    for (const std::string& name : names)
        if (name.find(train::damaged_mark) != std::string::npos)
            tell(skipped(checkpoints + "/" + name));
    return good;
}

}  // namespace

const char* name(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::good:
            return "good";
        case Verdict::bad:
            return "bad";
        case Verdict::gone:
            return "gone";
        case Verdict::skipped:
            break;
    }
    return "skipped";
}

bool verify(const std::string& path, const std::function<void(const Verified&)>& told) {
    if (!path_exists(path)) throw Error(ErrorKind::config, path + ": does not exist");
    const bool folder = is_folder(path);
    if (folder && !is_checkpoint(path)) {
        if (holds_model(path) || path_exists(train::checkpoints_of(path)))
            return verify_model(path, told);
        throw Error(ErrorKind::config, path +
                                           ": is neither a model's folder nor a checkpoint nor a "
                                           ".safetensors file");
    }
    const Verified verified = folder ? verify_checkpoint(path) : verify_file(path);
    told(verified);
    return verified.verdict != Verdict::bad;
}

}  // namespace lockstep::launcher::checkpoints

// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/hash.hpp"
#include "runtime/core/path_status.hpp"
#include "runtime/train/checkpoint/atomic_file.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
constexpr std::array contents = {"model.safetensors", "optimizer.safetensors", "state.json"};

std::vector<TensorExtent> places_of(const std::vector<OptimizerTensor>& tensors) {
    std::vector<TensorExtent> places;
    for (const OptimizerTensor& t : tensors) places.push_back({t.name, t.shape, t.values});
    return places;
}

std::string state_text(const RunRecord& record) {
    Json json;
    json["format_version"] = format_version;
    json["trainer"] = nlohmann::json(record.trainer);
    json["options"] = Json::parse(record.options_json);
    json["versions"] = record.versions;
    return json.dump(1) + "\n";
}

RunRecord read_record(const std::string& path) {
    const Json json = read_json(path);
    return from_json_file(path, [&] {
        RunRecord record;
        record.trainer = nlohmann::json(json.at("trainer")).get<TrainerState>();
        record.options_json = json.at("options").dump();
        record.versions = json.at("versions").get<Metadata>();
        return record;
    });
}

std::string manifest_text(const std::string& folder) {
    Json json;
    json["format_version"] = format_version;
    for (const char* file : contents) {
        const std::string path = folder + "/" + file;
        json["files"][file] = {{"bytes", fs::file_size(path)}, {"xxh3", hex(hash_file(path))}};
    }
    return json.dump(1) + "\n";
}

[[noreturn]] void missing(const std::string& path) {
    throw Error(ErrorKind::data, path + ": is missing from the checkpoint");
}

void verify_file(const std::string& path, const Json& entry) {
    std::error_code failure;
    const auto bytes = fs::file_size(path, failure);
    if (failure == std::errc::no_such_file_or_directory) missing(path);
    if (failure) {
        errno = failure.value();
        throw_errno("cannot be looked at", path);
    }
    if (bytes != entry.at("bytes").get<std::uint64_t>()) {
        throw Error(ErrorKind::data, path + ": is damaged: it has " + std::to_string(bytes) +
                                         " bytes of " + entry.at("bytes").dump());
    }
    if (hex(hash_file(path)) != entry.at("xxh3").get<std::string>()) {
        throw Error(ErrorKind::data, path + ": is damaged: its checksum is not the manifest's");
    }
}

// A newer format is sound for the program that wrote it, so it must not count as damaged.
void refuse_newer(const std::string& path, std::int64_t version) {
    if (version == format_version) return;
    const bool newer = version > format_version;
    throw Error(newer ? ErrorKind::config : ErrorKind::data,
                path + ": is of format version " + std::to_string(version) +
                    ", and this program reads version " + std::to_string(format_version) +
                    (newer ? "; continue with the newer Lockstep that wrote it, or choose another "
                             "--model-file"
                           : ""));
}

}  // namespace

void save_checkpoint(const std::string& path, const RunTensors& tensors, const RunRecord& record,
                     const BeforeCommit& before_commit) {
    AtomicDirectory directory(path);
    const std::string& folder = directory.path();
    write_places(folder + "/model.safetensors", places_of(tensors.table, tensors.master));
    write_places(folder + "/optimizer.safetensors", places_of(tensors.optimizer));
    write_atomically(folder + "/state.json", state_text(record));
    write_atomically(folder + "/manifest.json", manifest_text(folder));
    if (before_commit) before_commit();
    directory.commit();
}

void verify_checkpoint(const std::string& path) {
    const std::string manifest_path = path + "/manifest.json";
    if (!path_exists(manifest_path)) missing(manifest_path);
    const Json manifest = read_json(manifest_path);
    from_json_file(manifest_path, [&] {
        refuse_newer(manifest_path, manifest.at("format_version").get<std::int64_t>());
        for (const char* file : contents) {
            verify_file(path + "/" + file, manifest.at("files").at(file));
        }
    });
}

RunRecord load_checkpoint(const std::string& path, const RunTensors& tensors) {
    verify_checkpoint(path);
    RunRecord record = read_record(path + "/state.json");
    SafetensorsFile model(path + "/model.safetensors");
    SafetensorsFile optimizer(path + "/optimizer.safetensors");
    const auto model_places = places_of(tensors.table, tensors.master);
    const auto optimizer_places = places_of(tensors.optimizer);
    check_places(model, model_places,
                 "continue with the model's own options, or choose another --model-file");
    check_places(optimizer, optimizer_places,
                 "continue with the optimizer it was saved with, or begin a new --model-file with "
                 "--init-model");
    read_places(model, model_places);
    read_places(optimizer, optimizer_places);
    return record;
}

}  // namespace lockstep::train

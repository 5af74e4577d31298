// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint.hpp"

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/hash.hpp"
#include "runtime/core/path_status.hpp"
#include "runtime/train/checkpoint/atomic_file.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int format_version = 2;
constexpr const char* manifest_file = "/manifest.json";
constexpr const char* weights_file = "model.safetensors";
constexpr const char* state_file = "state.json";
// Version 1 has the optimizer's tensors in one file, whole.
constexpr const char* whole_optimizer_file = "optimizer.safetensors";
constexpr const char* weights_remedy =
    "continue with the model's own options, or choose another --model-file";
constexpr const char* optimizer_remedy =
    "continue with the optimizer it was saved with, or begin a new --model-file with --init-model";
// A larger state is written as several files.
constexpr std::size_t most_part_elements = std::size_t{1} << 30;

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

std::string manifest_text(const std::map<std::string, WrittenFile>& files) {
    Json json;
    json["format_version"] = format_version;
    for (const auto& [name, file] : files)
        json["files"][name] = {{"bytes", file.bytes}, {"xxh3", hex(file.xxh3)}};
    return json.dump(1) + "\n";
}

[[noreturn]] void missing(const std::string& path) {
    throw Error(ErrorKind::data, path + ": is missing from the checkpoint");
}

void verify_size(const std::string& path, const Json& entry) {
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
}

void verify_checksum(const std::string& path, const Json& entry) {
    if (hex(hash_file(path)) != entry.at("xxh3").get<std::string>()) {
        throw Error(ErrorKind::data, path + ": is damaged: its checksum is not the manifest's");
    }
}

// A newer format is sound for the program that wrote it, so it must not count as damaged.
void refuse_newer(const std::string& path, std::int64_t version) {
    if (version >= 1 && version <= format_version) return;
    const bool newer = version > format_version;
    throw Error(newer ? ErrorKind::config : ErrorKind::data,
                path + ": is of format version " + std::to_string(version) +
                    ", and this program reads versions 1 to " + std::to_string(format_version) +
                    (newer ? "; continue with the newer Lockstep that wrote it, or choose another "
                             "--model-file"
                           : ""));
}

struct Manifest {
    std::int64_t version = 0;
    Json files;
};

Manifest read_manifest(const std::string& folder) {
    const std::string path = folder + manifest_file;
    if (!path_exists(path)) missing(path);
    const Json json = read_json(path);
    return from_json_file(path, [&] {
        Manifest manifest{json.at("format_version").get<std::int64_t>(), {}};
        refuse_newer(path, manifest.version);
        manifest.files = json.at("files");
        return manifest;
    });
}

// A name from elsewhere must not lead out of the folder.
bool may_be_listed(const std::string& name, std::int64_t version) {
    if (name == weights_file || name == state_file) return true;
    return version == 1 ? name == whole_optimizer_file : is_part_name(name);
}

void require_names(const std::string& folder, const Manifest& manifest) {
    for (const auto& [name, entry] : manifest.files.items())
        if (!may_be_listed(name, manifest.version))
            throw Error(ErrorKind::data, folder + manifest_file + ": is damaged: it lists " + name);
    for (const char* name : {weights_file, state_file}) (void)manifest.files.at(name);
    if (manifest.version == 1) (void)manifest.files.at(whole_optimizer_file);
}

std::vector<std::string> parts_of(const std::string& folder, const Manifest& manifest) {
    std::vector<std::string> paths;
    for (const auto& [name, entry] : manifest.files.items())
        if (is_part_name(name)) paths.push_back(folder + "/" + name);
    return paths;
}

void load_tensors(const std::string& folder, const Manifest& manifest, const RunTensors& tensors) {
    SafetensorsFile model(folder + "/" + weights_file);
    const auto model_places = places_of(tensors.table, tensors.master);
    const auto optimizer_places = places_of(tensors.optimizer);
    check_places(model, model_places, weights_remedy);
    if (manifest.version == 1) {
        SafetensorsFile optimizer(folder + "/" + whole_optimizer_file);
        check_places(optimizer, optimizer_places, optimizer_remedy);
        read_places(optimizer, optimizer_places);
    } else {
        PartFiles parts(parts_of(folder, manifest));
        parts.check(optimizer_places, folder, optimizer_remedy);
        parts.read(whole_tensors(optimizer_places));
    }
    read_places(model, model_places);
}

}  // namespace

void CheckpointDraft::commit(const RunRecord& record, const BeforeCommit& before_commit) {
    add(state_file, write_atomically(folder() + "/" + state_file, state_text(record)));
    write_atomically(folder() + manifest_file, manifest_text(files_));
    if (before_commit) before_commit();
    directory_.commit();
}

void save_checkpoint(const std::string& path, const RunTensors& tensors, const RunRecord& record,
                     const BeforeCommit& before_commit) {
    CheckpointDraft draft(path);
    const std::string folder = draft.folder() + "/";
    draft.add(weights_file,
              write_places(folder + weights_file, places_of(tensors.table, tensors.master)));
    const auto optimizer_places = places_of(tensors.optimizer);
    const auto pieces = whole_tensors(optimizer_places);
    const std::size_t total = elements(pieces);
    for (std::size_t part = 0; part * most_part_elements < total; ++part) {
        const auto own = cut(pieces, part * most_part_elements, most_part_elements);
        draft.add(part_name(part), write_part(folder + part_name(part), own));
    }
    draft.commit(record, before_commit);
}

void verify_checkpoint(const std::string& path, Verify what) {
    const Manifest manifest = read_manifest(path);
    from_json_file(path + manifest_file, [&] {
        require_names(path, manifest);
        for (const auto& [name, entry] : manifest.files.items()) {
            verify_size(path + "/" + name, entry);
            if (what == Verify::contents || name == state_file)
                verify_checksum(path + "/" + name, entry);
        }
    });
    if (what == Verify::contents && manifest.version > 1) (void)PartFiles(parts_of(path, manifest));
}

RunRecord read_run_record(const std::string& checkpoint) {
    const std::string path = checkpoint + "/" + state_file;
    const Json json = read_json(path);
    return from_json_file(path, [&] {
        RunRecord record;
        record.trainer = nlohmann::json(json.at("trainer")).get<TrainerState>();
        record.options_json = json.at("options").dump();
        record.versions = json.at("versions").get<Metadata>();
        return record;
    });
}

RunRecord load_checkpoint(const std::string& path, const RunTensors& tensors) {
    verify_checkpoint(path);
    return load_verified_checkpoint(path, tensors);
}

RunRecord load_verified_checkpoint(const std::string& path, const RunTensors& tensors) {
    RunRecord record = read_run_record(path);
    load_tensors(path, read_manifest(path), tensors);
    return record;
}

}  // namespace lockstep::train

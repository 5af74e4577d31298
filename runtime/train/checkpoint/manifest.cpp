// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/manifest.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/json_object.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_json.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void missing(const std::string& path) {
    throw Error(ErrorKind::data, path + ": is missing from the checkpoint");
}

// A newer format is sound for the program that wrote it, so it must not count as damaged.
void refuse_newer(const std::string& path, std::int64_t version) {
    if (version >= 1 && version <= checkpoint_format) return;
    const bool newer = version > checkpoint_format;
    throw Error(newer ? ErrorKind::config : ErrorKind::data,
                path + ": is of format version " + std::to_string(version) +
                    ", and this program reads versions 1 to " + std::to_string(checkpoint_format) +
                    (newer ? "; continue with the newer Lockstep that wrote it, or choose another "
                             "--model-file"
                           : ""));
}

// A name from elsewhere must not lead out of the folder.
bool may_be_listed(const std::string& name, std::int64_t version) {
    if (name == weights_file || name == state_file) return true;
    return version == 1 ? name == whole_optimizer_file : is_part_name(name);
}

Manifest manifest_of(const Json& json, const std::string& path) {
    const JsonOrigin origin{path, ""};
    const JsonObject object(json, origin);
    Manifest manifest{static_cast<std::int64_t>(object.count("format_version")), {}};
    refuse_newer(path, manifest.version);
    const JsonObject files = object.object("files");
    for (const auto& [name, value] : object.at("files").items()) {
        if (!may_be_listed(name, manifest.version))
            throw Error(ErrorKind::data, path + ": is damaged: it lists " + shown(name));
        const JsonObject entry = files.object(name.c_str());
        manifest.files.push_back({name, entry.count("bytes"), entry.text("xxh3")});
    }
    for (const char* name : {weights_file, state_file}) (void)files.at(name);
    if (manifest.version == 1) (void)files.at(whole_optimizer_file);
    return manifest;
}

}  // namespace

std::vector<std::string> Manifest::parts(const std::string& folder) const {
    std::vector<std::string> paths;
    for (const ListedFile& file : files)
        if (is_part_name(file.name)) paths.push_back(folder + "/" + file.name);
    return paths;
}

std::uint64_t Manifest::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const ListedFile& file : files) sum += file.bytes;
    return sum;
}

Manifest read_manifest(const std::string& folder) {
    const std::string path = folder + "/" + manifest_file;
    if (!path_exists(path)) missing(path);
    const Json json = read_json(path);
    return manifest_of(json, path);
}

std::string manifest_text(const std::map<std::string, WrittenFile>& files) {
    Json json;
    json["format_version"] = checkpoint_format;
    for (const auto& [name, file] : files)
        json["files"][name] = {{"bytes", file.bytes}, {"xxh3", hex(file.xxh3)}};
    return dump_json(json, 1) + "\n";
}

void verify_size(const std::string& folder, const ListedFile& file) {
    const std::string path = folder + "/" + file.name;
    if (const std::string kind = other_kind(path); !kind.empty())
        throw Error(ErrorKind::data, path + ": is damaged: it is " + kind);
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path, failure);
    if (failure == std::errc::no_such_file_or_directory) missing(path);
    if (failure) {
        errno = failure.value();
        throw_errno("cannot be looked at", path);
    }
    if (bytes != file.bytes) {
        throw Error(ErrorKind::data, path + ": is damaged: it has " + std::to_string(bytes) +
                                         " bytes of " + std::to_string(file.bytes));
    }
}

void verify_file(const std::string& folder, const ListedFile& file) {
    verify_size(folder, file);
    const std::string path = folder + "/" + file.name;
    if (hex(hash_file(path)) != file.xxh3) {
        throw Error(ErrorKind::data, path + ": is damaged: its checksum is not the manifest's");
    }
}

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::train {

// The version of the format that this program writes. It reads all versions from 1 on.
inline constexpr std::int64_t checkpoint_format = 2;

// Names the files of a checkpoint. The optimizer's tensors are in part_name(0), part_name(1), ...;
// version 1 has them in one file, whole.
inline constexpr const char* manifest_file = "manifest.json";
inline constexpr const char* weights_file = "model.safetensors";
inline constexpr const char* state_file = "state.json";
inline constexpr const char* whole_optimizer_file = "optimizer.safetensors";

// Describes a file as the manifest lists it.
struct ListedFile {
    std::string name;
    std::uint64_t bytes = 0;
    std::string xxh3;  // hexadecimal
};

// Holds what manifest.json tells of a checkpoint.
struct Manifest {
    std::int64_t version = 0;
    std::vector<ListedFile> files;

    // Returns the paths of the files with the optimizer's tensors in a checkpoint of version 2.
    std::vector<std::string> parts(const std::string& folder) const;
    std::uint64_t bytes() const noexcept;
};

// Throws kind data if the manifest is missing or damaged, lists a file that does not belong to a
// checkpoint, or lacks one. Throws kind config for a newer version.
Manifest read_manifest(const std::string& folder);

// Returns the text of a manifest of checkpoint_format.
std::string manifest_text(const std::map<std::string, WrittenFile>& files);

// Compares the file's size. Throws kind data, and SystemFailure if it cannot be looked at.
void verify_size(const std::string& folder, const ListedFile& file);

// Reads the whole file and compares size and checksum. Throws kind data, and SystemFailure if it
// cannot be read.
void verify_file(const std::string& folder, const ListedFile& file);

}  // namespace lockstep::train

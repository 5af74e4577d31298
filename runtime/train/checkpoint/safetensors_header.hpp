// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/train/checkpoint/safetensors.hpp"

namespace lockstep::train {

// Holds one file as it is, with the names that its tensors have there.
struct OpenedSafetensors {
    SafetensorsPart part;
    std::vector<TensorInfo> tensors;  // ordered by offset
    Metadata metadata = {};
};

// Opens a file and checks its whole header; see SafetensorsFile.
OpenedSafetensors open_safetensors(const std::string& path);

// Throws kind data that names the file.
[[noreturn]] void refuse_file(const std::string& path, const std::string& what);

// Reads `bytes` from `offset`. Only an early end of the file is damage; another failure is the
// system's and says nothing about the file.
void read_at(const FileDescriptor& file, const std::string& path, const std::string& part,
             std::uint64_t offset, void* to, std::size_t bytes);

}  // namespace lockstep::train

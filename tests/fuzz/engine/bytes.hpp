// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::fuzz {

using Bytes = std::vector<std::uint8_t>;

// Returns the bytes of a file. Throws std::runtime_error if it cannot be read.
Bytes read_bytes(const std::string& path);
void write_bytes(const std::string& path, const Bytes& bytes);

// Returns the paths of the file, or of all files in the folder and below it, in alphabetical order.
std::vector<std::string> files_of(const std::string& path);

// Returns a name for a file with these bytes, such as "3f2a...".
std::string name_of(const Bytes& bytes);

}  // namespace lockstep::fuzz

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/input_reader.hpp"

namespace lockstep::fuzz {

// The file in the current folder that a changed shard may name as another one. It is never written.
inline constexpr const char* outside = "outside.bin";

// Copies a shard with chunks of 256 values, which differs from what prepare writes in size alone: a
// chunk of prepare's has 256 KiB, and most of it is empty.
void copy_with_small_chunks(const std::string& from, const std::string& to);

// Changes the structure of a shard with HDF5's own functions, so that the file stays one of HDF5:
// attributes and datasets of other types, sizes, layouts and filters, links to other objects, and
// values with a right checksum. The input says how many changes and which.
void change_structure(const std::string& path, InputReader& input);

// Changes single bytes as the rest of the input says.
void change_bytes(std::vector<std::uint8_t>& bytes, InputReader& input);

}  // namespace lockstep::fuzz

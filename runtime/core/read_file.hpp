// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

// No file that is read whole is larger: 64 MiB.
constexpr std::size_t largest_small_file_bytes = std::size_t{64} << 20;

// Returns the contents of a small file. If the file cannot be read to its end (a folder, a broken
// disk, a lost file server), it throws an io error with `complaint`, the path and the reason; it
// never returns a part. A file that is not a regular one (a pipe, a device) is refused before
// anything is read, and so is one that is larger than a small file can be.
std::string read_file(const std::string& path, const std::string& complaint = "cannot be read");

// Calls `action` with one block after the other. Works for regular files of any size, with the same
// errors.
void read_blocks(const std::string& path, const std::string& complaint,
                 const std::function<void(std::string_view)>& action);

enum class Reading { goes_on, stopped };
// Does the same until `action` returns stopped, and returns what it returned last.
Reading read_blocks_while(const std::string& path, const std::string& complaint,
                          const std::function<Reading(std::string_view)>& action);

}  // namespace lockstep

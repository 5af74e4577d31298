// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

// Returns the contents of a small file. If the file cannot be read to its end (a folder, a broken
// disk, a lost file server), it throws an io error with `complaint`, the path and the reason; it
// never returns a part.
std::string read_file(const std::string& path, const std::string& complaint = "cannot be read");

// Calls `action` with one block after the other. Works for files of any size, with the same errors.
void read_blocks(const std::string& path, const std::string& complaint,
                 const std::function<void(std::string_view)>& action);

}  // namespace lockstep

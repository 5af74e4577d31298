// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

// The whole of a small file. A file that cannot be read to its end (a folder, a broken disk, one
// that a file server lost) is never taken for a shorter one: throws an io error, `complaint` with
// the path and the reason.
std::string read_file(const std::string& path, const std::string& complaint = "cannot be read");

// The same of a file of any size, block after block.
void read_blocks(const std::string& path, const std::string& complaint,
                 const std::function<void(std::string_view)>& action);

}  // namespace lockstep

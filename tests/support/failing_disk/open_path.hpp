// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::failing_disk {

// Returns the path of an open file; empty if there is none.
std::string open_path(int file);
// Returns the absolute path that `path` means relative to the open folder `folder` (or AT_FDCWD).
std::string absolute(int folder, const char* path);

}  // namespace lockstep::failing_disk

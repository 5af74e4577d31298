// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// As their likes in <filesystem>, but what nobody can tell (a folder closed to the user, a loop of
// links, a file server that is gone) is an io error with the path and the reason.
bool path_exists(const std::string& path);
bool is_folder(const std::string& path);
bool is_file(const std::string& path);  // a regular one

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// These work like their counterparts in <filesystem>. If the answer cannot be known (a folder
// closed to the user, a loop of links, a lost file server), they throw an io error with the path
// and the reason.
bool path_exists(const std::string& path);
bool is_folder(const std::string& path);
bool is_file(const std::string& path);  // a regular file

// Says what the path names, with its article, if that is not a regular file: "a folder", "a pipe".
// Empty: it is one, or nothing is there.
std::string other_kind(const std::string& path);

}  // namespace lockstep

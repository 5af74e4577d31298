// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::launcher {

// Throws a config error that names the option if the path can only be a folder's: it ends with a
// slash, with "." or "..", or a folder is there. An empty path is accepted.
void require_file_name(const std::string& option, const std::string& path);

// Does so, too, if the folder that the file goes into is not there.
void require_place(const std::string& option, const std::string& path);

// Checks at the start of a run whether a JSON file can be written at `path` at its end. Throws an
// error that names the option when no file can be written there, or when the file holds something
// else that would be lost. An existing file may be replaced when it is empty or when its JSON
// object begins with `first_key`, as such files do. An empty path is accepted.
void require_output_file(const std::string& option, const std::string& path,
                         std::string_view first_key);

// Throws a config error if two options name the same file. Empty paths are accepted.
void require_different_files(const std::string& option, const std::string& path,
                             const std::string& other_option, const std::string& other_path);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/writing/existing_folder.hpp"
#include "data/writing/partial_folder.hpp"

namespace lockstep::data {

// Makes a directory that appears complete or not at all. Files are written to a temporary directory
// beside it; commit() flushes them to disk and gives it the name. With Existing::overwrite the two
// are exchanged. Without a commit() everything is removed.
class OutputDirectory {
public:
    // Follows a symbolic link and removes what interrupted writers left beside the directory.
    // Throws a config error if `path` is in use or cannot be created, or, with Existing::overwrite,
    // if it contains files that prepare did not write.
    OutputDirectory(const std::string& path, Existing existing);
    // Returns the directory to write to before commit().
    const std::string& partial() const noexcept { return partial_.path(); }
    // Without Existing::overwrite it throws a config error, at the last moment too, if another
    // writer has taken the name.
    void commit();

private:
    std::string path_;
    PartialFolder partial_;
    Existing existing_;
};

}  // namespace lockstep::data

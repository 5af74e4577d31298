// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/files/durable_files.hpp"

namespace lockstep::data {

// Owns a folder beside `path`, named path.partial-RANDOM, that nobody else has. This process holds
// a lock on it as long as the object lives; the lock ends with the process, however it ends. The
// destructor removes the folder unless it is in place.
class PartialFolder {
public:
    // Makes the folder and those above it. Throws a config error.
    explicit PartialFolder(const std::string& path);
    ~PartialFolder();
    PartialFolder(const PartialFolder&) = delete;
    PartialFolder& operator=(const PartialFolder&) = delete;

    const std::string& path() const noexcept { return path_; }
    // Syncs the folder and gives it the name `path`. What had that name is removed.
    void put_in_place(const std::string& path);
    // Does the same, but replaces no more than an empty folder. Returns whether it did.
    Placed put_in_free_place(const std::string& path);

private:
    bool is_own() const;

    std::string path_;
    FileDescriptor lock_;
};

// Removes the partial folders beside `path` that no process writes any more. Those on a file system
// without locks stay. If the folder `path` was about to be replaced when its writer ended, and has
// no name now, it gets its name back.
void remove_partial_folders(const std::string& path);

}  // namespace lockstep::data

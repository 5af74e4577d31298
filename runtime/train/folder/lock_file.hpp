// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/train/folder/lock_owner.hpp"

namespace lockstep::train {

// The name of the lock in a model folder.
inline constexpr const char* lock_name = "run.lock";

// Holds a lock file as it was read. `owner` is empty if its text describes none.
struct LockContent {
    bool there = false;
    std::string text;
    std::optional<LockOwner> owner;

    bool is_of(const LockOwner& run) const { return owner && owner->run == run.run; }
};

// Throws kind config if `path` is something else than a file, and kind io if it cannot be read.
LockContent read_lock(const std::string& path);

// Makes the file. Of several callers on any hosts only one succeeds. Returns false if it exists.
bool create_lock(const std::string& path, const LockOwner& owner);
// Replaces the file, which must exist. The caller takes care that nobody else does.
void replace_lock(const std::string& path, const LockOwner& owner);

// lost: the file is not there or is another run's. failed: nobody knows, because the file could not
// be read or written.
enum class Beat { done, failed, lost };
// Writes owner.beats into the owner's file.
Beat write_beat(const std::string& path, const LockOwner& owner) noexcept;

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/train/folder/lock_owner.hpp"

namespace lockstep::train {

// Removes the files beside the lock `path` that killed starts left: files that were to become a
// lock, and turns. `self` has the lock. A file goes if the process that it names has surely ended,
// or if it is an hour older than the lock. What cannot be read or removed stays.
void remove_lock_leftovers(const std::string& path, const LockOwner& self) noexcept;

}  // namespace lockstep::train

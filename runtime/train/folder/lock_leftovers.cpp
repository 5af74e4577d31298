// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/lock_leftovers.hpp"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <vector>

#include "runtime/train/folder/lock_file.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

// Both times are those of the file system's own clock.
bool is_much_older(const fs::path& file, const std::string& lock) {
    return fs::last_write_time(lock) - fs::last_write_time(file) > std::chrono::hours(1);
}

bool is_left_over(const fs::path& file, const std::string& lock, const LockOwner& self) {
    try {
        const LockContent content = read_lock(file);
        if (!content.there) return false;
        if (content.owner && state_of(*content.owner, self) == OwnerState::gone) return true;
        return is_much_older(file, lock);
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

void remove_lock_leftovers(const std::string& path, const LockOwner& self) noexcept {
    try {
        const fs::path lock(path);
        const std::string begin = lock.filename().string() + ".";
        std::vector<fs::path> left;
        for (const auto& entry : fs::directory_iterator(lock.parent_path())) {
            const std::string name = entry.path().filename();
            // A turn that is named after this run is of one that wants its lock.
            if (!name.starts_with(begin) || name.find(self.run) != std::string::npos) continue;
            if (is_left_over(entry.path(), path, self)) left.push_back(entry.path());
        }
        for (const fs::path& file : left) ::unlink(file.c_str());
    } catch (const std::exception&) {
        // The next run looks again.
    }
}

}  // namespace lockstep::train

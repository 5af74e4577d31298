// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/output_claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/core/error.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep {

namespace {

// Whoever removes the file holds its lock, so a file that is still in its place is everybody's.
bool is_in_place(const FileDescriptor& file, const std::string& path) {
    struct stat held {};
    struct stat there {};
    return ::fstat(file.raw(), &held) == 0 && ::lstat(path.c_str(), &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

enum class Lock { held, held_by_another, none };

Lock lock(const std::string& path, FileDescriptor& file) {
    while (true) {
        file = FileDescriptor(
            ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
        struct stat status {};
        if (!file || ::fstat(file.raw(), &status) != 0 || !S_ISREG(status.st_mode) ||
            status.st_size > 0)
            return Lock::none;
        if (::flock(file.raw(), LOCK_EX | LOCK_NB) != 0)
            return errno == EWOULDBLOCK ? Lock::held_by_another : Lock::none;
        if (is_in_place(file, path)) return Lock::held;
    }
}

}  // namespace

OutputClaim::OutputClaim(const std::string& option, const std::string& path) {
    const std::string kind = path.empty() ? "" : other_kind(path);
    if (path.empty() || !(kind.empty() || kind == "a folder")) return;
    // The name is that of a leftover, which the next program takes over.
    const std::string lock_path = followed_path(named_folder(path)) + ".tmp-0";
    const Lock found = lock(lock_path, lock_);
    if (found == Lock::held) lock_path_ = lock_path;
    if (found == Lock::held_by_another)
        throw Error(ErrorKind::config, option + (option.empty() ? "" : " ") + path +
                                           ": another program writes there at this moment; wait "
                                           "for its end, or choose another name");
}

OutputClaim::~OutputClaim() {
    if (!lock_path_.empty()) ::unlink(lock_path_.c_str());
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/output_claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";

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

std::string_view without_aside(std::string_view name) {
    if (const std::string aside = name_aside(""); name.ends_with(aside))
        name.remove_suffix(aside.size());
    return name;
}

// Tells whether a program writes `name` under this name until it is complete. A person may have
// given a similar name to another file, but not a random one.
bool is_temporary(std::string_view name, std::string_view of) {
    name = without_aside(name);
    if (!name.starts_with(of)) return false;
    name.remove_prefix(of.size());
    if (!name.starts_with(temporary_mark)) return false;
    name.remove_prefix(temporary_mark.size());
    return name.size() == hex(std::uint64_t{0}).size() &&
           name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Nobody writes there, because the claim is held. An older folder comes first, because it may be
// all that there is of this name.
void remove_leftovers_of(const fs::path& path) {
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::vector<fs::path> found;
    std::error_code failure;
    for (fs::directory_iterator entry(parent, failure);
         !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        const std::string name = entry->path().filename();
        if (!is_temporary(name, path.filename().string())) continue;
        found.insert(without_aside(name) == name ? found.end() : found.begin(), entry->path());
    }
    for (const fs::path& leftover : found) {
        std::error_code ignored;
        const std::string name = leftover.filename();
        if (without_aside(name) != name && !path_exists(path.string()))
            fs::rename(leftover, path, ignored);
        else
            fs::remove_all(leftover, ignored);
    }
}

}  // namespace

OutputClaim::OutputClaim(const std::string& option, const std::string& path) {
    const std::string kind = path.empty() ? "" : other_kind(path);
    if (path.empty() || !(kind.empty() || kind == "a folder")) return;
    // The name is that of a leftover, which the next program takes over.
    const std::string named = named_folder(path), followed = followed_path(named);
    const std::string lock_path = followed + std::string(temporary_mark) + "0";
    const Lock found = lock(lock_path, lock_);
    if (found == Lock::held) {
        lock_path_ = lock_path;
        remove_leftovers_of(followed);
        if (named != followed) remove_leftovers_of(named);
    }
    if (found == Lock::held_by_another)
        throw Error(ErrorKind::config, option + (option.empty() ? "" : " ") + path +
                                           ": another program writes there at this moment; wait "
                                           "for its end, or choose another name");
}

OutputClaim::~OutputClaim() {
    if (!lock_path_.empty()) ::unlink(lock_path_.c_str());
}

}  // namespace lockstep

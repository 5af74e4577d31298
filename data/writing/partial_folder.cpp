// SPDX-License-Identifier: Apache-2.0
#include "data/writing/partial_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* mark = ".partial-";

// Two processes may have one number, in containers or on two hosts.
std::string random_digits() {
    std::uint64_t value = 0;
    if (::getrandom(&value, sizeof value, 0) != sizeof value)
        throw_errno("gives no random number", "getrandom");
    return hex(value);
}

FileDescriptor opened(const std::string& path) {
    return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool takes_lock(const FileDescriptor& folder) {
    int status = 0;
    do {
        status = ::flock(folder.raw(), LOCK_EX | LOCK_NB);
    } while (status != 0 && errno == EINTR);
    return status == 0;
}

bool is_removed(const FileDescriptor& folder) {
    struct stat status {};
    return ::fstat(folder.raw(), &status) == 0 && status.st_nlink == 0;
}

[[noreturn]] void fail_to_make(const std::string& path, const std::string& why) {
    throw Error(ErrorKind::config,
                path + ": cannot make this folder (" + why + "); choose one you can write to");
}

// Another process may remove the new folder before it is locked.
FileDescriptor make_locked(const std::string& path) {
    for (;;) {
        try {
            make_folders(path);
        } catch (const SystemFailure& failure) {
            fail_to_make(path, failure_reason(failure.code()));
        }
        FileDescriptor folder = opened(path);
        if (!folder && errno == ENOENT) continue;
        if (!folder) fail_to_make(path, failure_reason(errno));
        // Nobody removes the folder if the file system has no locks.
        if (!takes_lock(folder) && errno == EWOULDBLOCK) continue;
        if (!is_removed(folder)) return folder;
    }
}

void remove_quietly(const fs::path& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

// Tells whether `name` is PREFIX and hexadecimal digits. Earlier versions used decimal ones.
bool is_partial(const std::string& name, const std::string& prefix) {
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos;
}

std::string without_aside(const std::string& name) {
    const std::string aside = name_aside("");
    return name.ends_with(aside) ? name.substr(0, name.size() - aside.size()) : name;
}

// Tells whether the writer of a partial folder has surely ended. A folder aside has no lock of its
// own: its writer has locked the folder that is to replace it.
bool is_abandoned(const std::string& partial) {
    const std::string base = without_aside(partial);
    if (!path_exists(base)) return base != partial;
    const FileDescriptor folder = opened(base);
    return folder && takes_lock(folder);
}

// Returns the names that may have been left over, those of folders aside first.
std::vector<fs::path> partial_folders(const fs::path& path) {
    std::vector<fs::path> found;
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const std::string prefix = path.filename().string() + mark;
    std::error_code failure;
    for (fs::directory_iterator entry(parent, failure);
         !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        const std::string name = entry->path().filename();
        if (!is_partial(without_aside(name), prefix)) continue;
        found.insert(without_aside(name) == name ? found.end() : found.begin(), entry->path());
    }
    return found;
}

}  // namespace

PartialFolder::PartialFolder(const std::string& path)
    : path_(path + mark + random_digits()), lock_(make_locked(path_)) {}

// If only the last sync failed, the name has the older folder, which may still be needed.
PartialFolder::~PartialFolder() {
    if (is_own()) remove_quietly(path_);
}

bool PartialFolder::is_own() const {
    struct stat named {
    }, made{};
    return ::stat(path_.c_str(), &named) == 0 && ::fstat(lock_.raw(), &made) == 0 &&
           named.st_ino == made.st_ino && named.st_dev == made.st_dev;
}

void PartialFolder::put_in_place(const std::string& path) {
    sync_folder(path_);
    put_folder(path_, path);
    remove_quietly(path_);
}

Placed PartialFolder::put_in_free_place(const std::string& path) {
    sync_folder(path_);
    return put_new_folder(path_, path);
}

void remove_partial_folders(const std::string& path) {
    for (const fs::path& partial : partial_folders(path)) {
        if (!is_abandoned(partial)) continue;
        std::error_code ignored;
        if (without_aside(partial) != partial && !path_exists(path))
            fs::rename(partial, path, ignored);
        else
            remove_quietly(partial);
    }
}

}  // namespace lockstep::data

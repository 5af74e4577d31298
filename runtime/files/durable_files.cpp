// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/durable_files.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "runtime/core/failure_reason.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/files/rename_once.hpp"
#include "runtime/files/sync_descriptor.hpp"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int code) {
    throw SystemFailure(path + ": " + what + ": " + writing_failure_reason(code), code);
}

void rename_or_throw(const std::string& from, const std::string& to) {
    if (const int code = rename_once(from, to)) fail(to, "cannot be put in place", code);
}

std::string parent_of(const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    return parent.empty() ? "." : parent.string();
}

// These are the answers of kernels and file systems that do not know an exchange, and of containers
// that do not allow the call. Two renames tell what else may be the matter.
bool cannot_exchange(int code) {
    return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EPERM;
}

void exchange_by_renames(const std::string& from, const std::string& to) {
    const std::string aside = name_aside(from);
    rename_or_throw(to, aside);
    if (const int code = rename_once(from, to)) {
        rename_or_throw(aside, to);
        fail(to, "cannot be put in place", code);
    }
    // Whatever becomes of the older folder, the new one is in place.
    (void)::rename(aside.c_str(), from.c_str());
}

void exchange(const std::string& from, const std::string& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
    if (!cannot_exchange(errno)) fail(to, "cannot be put in place", errno);
    exchange_by_renames(from, to);
}

}  // namespace

void sync_file(const std::string& path) {
    // Some file servers (SMB) sync only what was opened for writing.
    FileDescriptor handle(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!handle) handle = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!handle) fail(path, "cannot be synced to disk", errno);
    sync_descriptor(handle.raw(), path);
}

void sync_folder(const std::string& path) {
    const FileDescriptor handle(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Names can be made in a folder that may not be read, but nobody can sync it.
    if (!handle && (errno == EACCES || errno == EPERM)) return;
    if (!handle) fail(path, "cannot be synced to disk", errno);
    sync_descriptor(handle.raw(), path);
}

void make_folders(const std::string& given) {
    const std::string path = given.ends_with('/') ? parent_of(given) : given;
    if (path_exists(path)) return;
    make_folders(parent_of(path));
    // Another process may make it at the same time.
    if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) fail(path, "cannot be made", errno);
    sync_folder(parent_of(path));
}

void put_folder(const std::string& from, const std::string& to) {
    // A folder cannot be renamed over one that contains files.
    if (path_exists(to))
        exchange(from, to);
    else
        rename_or_throw(from, to);
    sync_folder(parent_of(to));
}

Placed put_new_folder(const std::string& from, const std::string& to) {
    // The system itself replaces an empty folder and no other.
    if (const int code = rename_once(from, to)) {
        if (code == ENOTEMPTY || code == EEXIST || code == ENOTDIR) return Placed::name_is_taken;
        fail(to, "cannot be put in place", code);
    }
    sync_folder(parent_of(to));
    return Placed::yes;
}

std::string name_aside(const std::string& from) { return from + "-old"; }

}  // namespace lockstep

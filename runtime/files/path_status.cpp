// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/path_status.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep {

namespace fs = std::filesystem;

namespace {

// A program may look for a file that need not be there, so it is the folder that matters. Returns
// the uppermost one that this user may not search.
std::string closed_folder(const fs::path& path) {
    fs::path above;
    for (const fs::path& part : path.parent_path()) {
        above /= part;
        if (::faccessat(AT_FDCWD, above.c_str(), X_OK, AT_EACCESS) != 0) return above;
    }
    std::error_code unknown;
    return fs::is_symlink(fs::symlink_status(path, unknown)) ? "a folder behind this link"
                                                             : "the current folder";
}

fs::file_status status_of(const std::string& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (status.type() != fs::file_type::none) return status;
    if (failure.value() == EACCES)
        throw SystemFailure(path + ": cannot be looked at: " + failure_reason(EACCES) + "; " +
                                closed_folder(path) + " is closed to this user",
                            EACCES);
    errno = failure.value();
    throw_errno("cannot be looked at", path);
}

}  // namespace

bool path_exists(const std::string& path) { return fs::exists(status_of(path)); }
bool is_folder(const std::string& path) { return fs::is_directory(status_of(path)); }
bool is_file(const std::string& path) { return fs::is_regular_file(status_of(path)); }

std::string other_kind(const std::string& path) {
    switch (status_of(path).type()) {
        case fs::file_type::not_found:
        case fs::file_type::regular:
            return "";
        case fs::file_type::directory:
            return "a folder";
        case fs::file_type::fifo:
            return "a pipe";
        case fs::file_type::socket:
            return "a socket";
        default:
            return "a device";
    }
}

}  // namespace lockstep

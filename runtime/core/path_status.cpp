// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/path_status.hpp"

#include <cerrno>
#include <filesystem>

#include "runtime/core/error.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep {

namespace fs = std::filesystem;

namespace {

fs::file_status status_of(const std::string& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (status.type() != fs::file_type::none) return status;
    // A program may look for a file that need not be there, so it is the folder that matters.
    if (failure.value() == EACCES)
        throw SystemFailure(path + ": cannot be looked at: " + failure.message() + "; " +
                                fs::path(path).parent_path().string() +
                                " or a folder above it is closed to this user",
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

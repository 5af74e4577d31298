// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/followed_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep {

namespace {

[[noreturn]] void fail(const std::string& path, int code) {
    throw SystemFailure(path + ": cannot be followed: " + failure_reason(code), code);
}

}  // namespace

std::string followed_path(const std::string& path) {
    constexpr int max_links = 40;  // the system's own limit
    std::filesystem::path at = path;
    for (int links = 0; links <= max_links; ++links) {
        struct stat facts {};
        if (::lstat(at.c_str(), &facts) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) return at;
            fail(path, errno);
        }
        if (!S_ISLNK(facts.st_mode)) return at;
        if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
            throw Error(ErrorKind::io, at.string() +
                                           ": is a link that another user made, and is not "
                                           "followed; remove it, or name another folder");
        std::error_code failure;
        const std::filesystem::path target = std::filesystem::read_symlink(at, failure);
        if (failure) fail(path, failure.value());
        at = at.parent_path() / target;
    }
    fail(path, ELOOP);
}

std::string named_folder(const std::string& path) {
    std::filesystem::path at = path;
    while ((at.filename().empty() || at.filename() == ".") && at.has_parent_path() &&
           at.has_relative_path())
        at = at.parent_path();
    if (at.filename() != "." && at.filename() != "..") return at;
    std::error_code failure;
    const std::filesystem::path resolved = std::filesystem::weakly_canonical(at, failure);
    if (failure) fail(path, failure.value());
    return named_folder(resolved);
}

}  // namespace lockstep

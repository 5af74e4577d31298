// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/rename_once.hpp"

#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>

namespace lockstep {
namespace {

bool are_one(const struct stat& a, const struct stat& b) noexcept {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

int rename_once(const std::string& from, const std::string& to) noexcept {
    struct stat before {
    }, after{}, left{};
    const bool known = ::lstat(from.c_str(), &before) == 0;
    if (::rename(from.c_str(), to.c_str()) == 0) return 0;
    const int code = errno;
    const bool is_there = known && ::lstat(to.c_str(), &after) == 0 && are_one(before, after);
    const bool is_done = is_there && ::lstat(from.c_str(), &left) != 0 && errno == ENOENT;
    return is_done ? 0 : code;
}

}  // namespace lockstep

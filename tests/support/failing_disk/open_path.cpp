// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk/open_path.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <climits>

namespace lockstep::failing_disk {
namespace {

std::string link_target(const std::string& link) {
    char path[PATH_MAX];
    const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

}  // namespace

std::string open_path(int file) { return link_target("/proc/self/fd/" + std::to_string(file)); }

std::string absolute(int folder, const char* path) {
    if (path == nullptr) return "";
    if (path[0] == '/') return path;
    const std::string base = folder == AT_FDCWD ? link_target("/proc/self/cwd") : open_path(folder);
    return path[0] == '\0' ? base : base + "/" + path;
}

}  // namespace lockstep::failing_disk

// SPDX-License-Identifier: Apache-2.0
// A preloaded library that makes files fail to open, as a broken file server does: opening a path
// that contains LOCKSTEP_FAULTY_PATH fails with the number LOCKSTEP_FAULTY_ERRNO, the first
// LOCKSTEP_FAULTY_TIMES times in each process. The file LOCKSTEP_FAULTY_LOG, if it is given, gets a
// line for each opening: the rank, or "-" in a process that is none, and the path. pread() of a
// file whose path contains LOCKSTEP_FAULTY_READS fails with EIO. If LOCKSTEP_FAULTY_LINKS is a
// number, link() always fails with it, as on a file system that has no hard links.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void note(const char* path) {
    const char* log = std::getenv("LOCKSTEP_FAULTY_LOG");
    if (log == nullptr) return;
    const char* rank = std::getenv("RANK");
    char line[4096];
    const int length =
        std::snprintf(line, sizeof line, "%s %s\n", rank == nullptr ? "-" : rank, path);
    const int file = next<int(const char*, int, ...)>("open")(
        log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (::write(file, line, static_cast<std::size_t>(length)) != length) std::abort();
    ::close(file);
}

bool fails(const char* path) {
    static std::atomic<int> failures{0};
    const char* part = std::getenv("LOCKSTEP_FAULTY_PATH");
    if (part == nullptr || path == nullptr || std::strstr(path, part) == nullptr) return false;
    note(path);
    if (failures++ >= std::atoi(std::getenv("LOCKSTEP_FAULTY_TIMES"))) return false;
    errno = std::atoi(std::getenv("LOCKSTEP_FAULTY_ERRNO"));
    return true;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return fails(path) ? -1 : next<int(const char*, int, ...)>("open")(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return fails(path) ? -1 : next<int(const char*, int, ...)>("open64")(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return fails(path) ? -1
                       : next<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

int link(const char* from, const char* to) {
    const char* code = std::getenv("LOCKSTEP_FAULTY_LINKS");
    if (code == nullptr) return next<int(const char*, const char*)>("link")(from, to);
    errno = std::atoi(code);
    return -1;
}

DIR* opendir(const char* path) {
    return fails(path) ? nullptr : next<DIR*(const char*)>("opendir")(path);
}

ssize_t pread(int file, void* into, std::size_t bytes, off_t from) {
    const char* part = std::getenv("LOCKSTEP_FAULTY_READS");
    char path[4096] = "";
    const std::string name = "/proc/self/fd/" + std::to_string(file);
    if (part != nullptr && ::readlink(name.c_str(), path, sizeof path - 1) > 0 &&
        std::strstr(path, part) != nullptr) {
        errno = EIO;
        return -1;
    }
    return next<ssize_t(int, void*, std::size_t, off_t)>("pread")(file, into, bytes, from);
}

ssize_t pread64(int file, void* into, std::size_t bytes, off64_t from) {
    return pread(file, into, bytes, from);
}

}  // extern "C"

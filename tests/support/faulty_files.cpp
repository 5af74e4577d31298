// SPDX-License-Identifier: Apache-2.0
// A preloaded library that makes files fail to open, as a broken file server does: opening a path
// that contains LOCKSTEP_FAULTY_PATH fails with the number LOCKSTEP_FAULTY_ERRNO, the first
// LOCKSTEP_FAULTY_TIMES times in each process. If LOCKSTEP_FAULTY_LINKS is a number, link() always
// fails with it, as on a file system that has no hard links.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

bool fails(const char* path) {
    static std::atomic<int> failures{0};
    const char* part = std::getenv("LOCKSTEP_FAULTY_PATH");
    if (part == nullptr || path == nullptr || std::strstr(path, part) == nullptr) return false;
    if (failures++ >= std::atoi(std::getenv("LOCKSTEP_FAULTY_TIMES"))) return false;
    errno = std::atoi(std::getenv("LOCKSTEP_FAULTY_ERRNO"));
    return true;
}

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
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

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// This library for LD_PRELOAD simulates a file system that is slow or no longer answers. It
// concerns files whose path contains SLOW_FILES, on the rank SLOW_FILES_RANK or, if that is not
// set, on all, once the file named by SLOW_FILES_FLAG exists. A read or write moves at most 1 KiB
// and takes the time that SLOW_FILES_BYTES_PER_S gives it. If that is 0, opening a stream, reading,
// writing and syncing never return.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t max_bytes = 1024;

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool concerned(const char* path) {
    const char* const part = std::getenv("SLOW_FILES");
    const char* const flag = std::getenv("SLOW_FILES_FLAG");
    if (part == nullptr || flag == nullptr || std::strstr(path, part) == nullptr) return false;
    const char* const victim = std::getenv("SLOW_FILES_RANK");
    const char* rank = std::getenv("RANK");
    if (rank == nullptr) rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr || (victim != nullptr && std::strcmp(rank, victim) != 0)) return false;
    return ::access(flag, F_OK) == 0;
}

bool concerned(int file) {
    char link[32] = "", path[4096] = "";
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return ::readlink(link, path, sizeof path - 1) > 0 && concerned(path);
}

bool hangs() { return std::atoi(std::getenv("SLOW_FILES_BYTES_PER_S")) == 0; }

// Waits in the kernel for the lock of a file that another descriptor holds, as a call does that a
// file server does not answer. Folders have no locks and are left alone.
void hang_at(int file) {
    char link[32] = "", path[4096] = "";
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (::readlink(link, path, sizeof path - 1) <= 0) return;
    const int other = ::open(path, O_RDWR | O_CLOEXEC);
    if (other < 0) return;
    struct flock lock {};
    lock.l_type = F_WRLCK;
    ::fcntl(other, F_OFD_SETLK, &lock);
    if ((::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY) lock.l_type = F_RDLCK;
    for (;;) ::fcntl(file, F_OFD_SETLKW, &lock);
}

// Returns how many bytes the call may move.
std::size_t allowed(int file, std::size_t bytes) {
    if (!concerned(file)) return bytes;
    if (hangs()) hang_at(file);
    const std::size_t moved = std::min(bytes, max_bytes);
    ::usleep(static_cast<useconds_t>(
        1'000'000 * moved / std::strtoul(std::getenv("SLOW_FILES_BYTES_PER_S"), nullptr, 10)));
    return moved;
}

void before_open(const char* path) {
    if (!concerned(path) || !hangs()) return;
    for (;;) ::pause();
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* from, std::size_t bytes) {
    return next<ssize_t(int, const void*, std::size_t)>("write")(file, from, allowed(file, bytes));
}

ssize_t read(int file, void* into, std::size_t bytes) {
    return next<ssize_t(int, void*, std::size_t)>("read")(file, into, allowed(file, bytes));
}

ssize_t pread(int file, void* into, std::size_t bytes, off_t from) {
    return next<ssize_t(int, void*, std::size_t, off_t)>("pread")(file, into, allowed(file, bytes),
                                                                  from);
}

ssize_t pread64(int file, void* into, std::size_t bytes, off64_t from) {
    return pread(file, into, bytes, from);
}

int fsync(int file) {
    if (concerned(file) && hangs()) hang_at(file);
    return next<int(int)>("fsync")(file);
}

FILE* fopen(const char* path, const char* mode) {
    before_open(path);
    return next<FILE*(const char*, const char*)>("fopen")(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
    before_open(path);
    return next<FILE*(const char*, const char*)>("fopen64")(path, mode);
}

}  // extern "C"

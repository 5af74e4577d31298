// SPDX-License-Identifier: Apache-2.0
// This library for LD_PRELOAD simulates a file system that no longer answers: once the file named
// by STALLED_READS exists, reads of HDF5 files by the rank STALLED_RANK never return.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

bool stalled(int file) {
    const char* const flag = std::getenv("STALLED_READS");
    const char* const victim = std::getenv("STALLED_RANK");
    const char* const rank = std::getenv("RANK");
    if (flag == nullptr || victim == nullptr || rank == nullptr) return false;
    if (std::strcmp(rank, victim) != 0 || ::access(flag, F_OK) != 0) return false;
    char link[32] = "/proc/self/fd/";
    char path[4096] = "";
    std::size_t end = std::strlen(link);
    if (file >= 10) link[end++] = static_cast<char>('0' + file / 10 % 10);
    link[end++] = static_cast<char>('0' + file % 10);
    const ssize_t length = ::readlink(link, path, sizeof path - 1);
    return length > 3 && std::strcmp(path + length - 3, ".h5") == 0;
}

}  // namespace

extern "C" ssize_t pread(int file, void* into, std::size_t bytes, off_t from) {
    while (stalled(file)) ::sleep(1);
    using Read = ssize_t (*)(int, void*, std::size_t, off_t);
    static const auto next = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "pread"));
    return next(file, into, bytes, from);
}

extern "C" ssize_t pread64(int file, void* into, std::size_t bytes, off64_t from) {
    return pread(file, into, bytes, from);
}

extern "C" ssize_t read(int file, void* into, std::size_t bytes) {
    while (stalled(file)) ::sleep(1);
    using Read = ssize_t (*)(int, void*, std::size_t);
    static const auto next = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "read"));
    return next(file, into, bytes);
}

// SPDX-License-Identifier: Apache-2.0
// The calls that open, list and close files and folders.
#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cstdarg>
#include <cstdio>

#include "tests/support/failing_disk/counted_call.hpp"
#include "tests/support/failing_disk/open_path.hpp"
#include "tests/support/failing_disk/sync_journal.hpp"

using namespace lockstep::failing_disk;

namespace {

template <class Call>
auto opening(const std::string& path, bool creates, Call call) {
    const bool made = creates && ::access(path.c_str(), F_OK) != 0;
    return counted(
        Kind::open, path, [&](Act) { return call(); },
        [&] {
            if (made) SyncJournal::of_this_process().made(path);
        });
}

int open_by(const char* function, const char* path, int flags, mode_t mode) {
    return opening(absolute(AT_FDCWD, path), (flags & O_CREAT) != 0,
                   [&] { return next<int(const char*, int, ...)>(function)(path, flags, mode); });
}

int open_at_by(const char* function, int folder, const char* path, int flags, mode_t mode) {
    return opening(absolute(folder, path), (flags & O_CREAT) != 0, [&] {
        return next<int(int, const char*, int, ...)>(function)(folder, path, flags, mode);
    });
}

std::FILE* fopen_by(const char* function, const char* path, const char* mode) {
    return opening(absolute(AT_FDCWD, path), mode[0] != 'r', [&] {
        return next<std::FILE*(const char*, const char*)>(function)(path, mode);
    });
}

// A folder's stream keeps the number of its file.
template <class Entry>
Entry* read_by(const char* function, DIR* folder) {
    return counted(Kind::list, open_path(::dirfd(folder)),
                   [&](Act) { return next<Entry*(DIR*)>(function)(folder); });
}

// Records the disk's state before the program's first call.
[[gnu::constructor]] void begin_journal() {
    const Inside guard;
    (void)SyncJournal::of_this_process();
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open_by("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open_by("open64", path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open_at_by("openat", folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open_at_by("openat64", folder, path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return fopen_by("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return fopen_by("fopen64", path, mode); }

DIR* opendir(const char* path) {
    return counted(Kind::list, absolute(AT_FDCWD, path),
                   [&](Act) { return next<DIR*(const char*)>("opendir")(path); });
}

dirent* readdir(DIR* folder) { return read_by<dirent>("readdir", folder); }
dirent64* readdir64(DIR* folder) { return read_by<dirent64>("readdir64", folder); }

int close(int file) {
    return counted(Kind::close, open_path(file),
                   [&](Act) { return next<int(int)>("close")(file); });
}

int fclose(std::FILE* file) {
    return counted(Kind::close, open_path(::fileno(file)),
                   [&](Act) { return next<int(std::FILE*)>("fclose")(file); });
}

}  // extern "C"

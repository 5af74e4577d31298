// SPDX-License-Identifier: Apache-2.0
// A preloaded library that makes files fail, as a broken file server does. The environment chooses:
// - Opening a path that contains LOCKSTEP_FAULTY_PATH fails with the number LOCKSTEP_FAULTY_ERRNO,
//   the first LOCKSTEP_FAULTY_TIMES times in each process.
// - LOCKSTEP_FAULTY_LOG is a file that gets a line for each such opening: the rank, or "-" in a
//   process that is none, and the path. The line of an fsync() has "synced" before the path, and
//   the line of a stat(), lstat() or access() has "looked at".
// - pread() of a file whose path contains LOCKSTEP_FAULTY_READS fails with EIO.
// - LOCKSTEP_FAULTY_CALLS is a list such as "flock=37 fsync=22" of calls and the numbers with which
//   they fail: flock, fsync, close (of files of LOCKSTEP_FAULTY_CLOSED), renameat2, moved (rename()
//   of a path that contains LOCKSTEP_FAULTY_MOVED), and renamed, a rename() that is done and says
//   that it failed. "root" makes the process look like one of root.
// - link() fails with the number LOCKSTEP_FAULTY_LINKS, and renameat2() with EINVAL, as on a file
//   system that has no hard links and cannot exchange names.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
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

std::string path_of(int file) {
    char path[4096] = "";
    const std::string name = "/proc/self/fd/" + std::to_string(file);
    return ::readlink(name.c_str(), path, sizeof path - 1) > 0 ? path : "";
}

// Returns 0 for a call that does not fail.
int faulty_call(const std::string& name) {
    const char* calls = std::getenv("LOCKSTEP_FAULTY_CALLS");
    const std::string list = calls == nullptr ? "" : " " + std::string(calls);
    const std::size_t at = list.find(" " + name + "=");
    return at == std::string::npos ? 0 : std::atoi(list.c_str() + at + name.size() + 2);
}

bool is_of(const char* variable, const std::string& path) {
    const char* part = std::getenv(variable);
    return part != nullptr && path.find(part) != std::string::npos;
}

int failed(int code) {
    errno = code;
    return -1;
}

bool is_named(const char* path) {
    const char* part = std::getenv("LOCKSTEP_FAULTY_PATH");
    return part != nullptr && path != nullptr && std::strstr(path, part) != nullptr;
}

void note_if_named(const char* path) {
    if (is_named(path)) note(("looked at " + std::string(path)).c_str());
}

bool fails(const char* path) {
    static std::atomic<int> failures{0};
    if (!is_named(path)) return false;
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

// These only add to the log.
int stat(const char* path, struct stat* facts) {
    note_if_named(path);
    return next<int(const char*, struct stat*)>("stat")(path, facts);
}

int lstat(const char* path, struct stat* facts) {
    note_if_named(path);
    return next<int(const char*, struct stat*)>("lstat")(path, facts);
}

int stat64(const char* path, struct stat64* facts) {
    note_if_named(path);
    return next<int(const char*, struct stat64*)>("stat64")(path, facts);
}

int lstat64(const char* path, struct stat64* facts) {
    note_if_named(path);
    return next<int(const char*, struct stat64*)>("lstat64")(path, facts);
}

int access(const char* path, int mode) {
    note_if_named(path);
    return next<int(const char*, int)>("access")(path, mode);
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

int fsync(int file) {
    const std::string path = path_of(file);
    if (is_named(path.c_str())) note(("synced " + path).c_str());
    if (const int code = faulty_call("fsync")) return failed(code);
    return next<int(int)>("fsync")(file);
}

int flock(int file, int operation) {
    if (const int code = faulty_call("flock")) return failed(code);
    return next<int(int, int)>("flock")(file, operation);
}

int close(int file) {
    const int code = faulty_call("close");
    const bool fails = code != 0 && is_of("LOCKSTEP_FAULTY_CLOSED", path_of(file));
    const int status = next<int(int)>("close")(file);
    return fails ? failed(code) : status;
}

int rename(const char* from, const char* to) {
    if (const int code = faulty_call("moved"); code != 0 && is_of("LOCKSTEP_FAULTY_MOVED", from))
        return failed(code);
    const int status = next<int(const char*, const char*)>("rename")(from, to);
    const int code = faulty_call("renamed");
    return status == 0 && code != 0 ? failed(code) : status;
}

uid_t geteuid() { return faulty_call("root") != 0 ? 0 : next<uid_t()>("geteuid")(); }

// File systems without hard links are mostly those that cannot exchange two names either.
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    if (const int code = faulty_call("renameat2")) return failed(code);
    if (std::getenv("LOCKSTEP_FAULTY_LINKS") == nullptr)
        return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(
            from_folder, from, to_folder, to, flags);
    errno = EINVAL;
    return -1;
}

ssize_t pread(int file, void* into, std::size_t bytes, off_t from) {
    const char* part = std::getenv("LOCKSTEP_FAULTY_READS");
    if (part != nullptr && path_of(file).find(part) != std::string::npos) {
        errno = EIO;
        return -1;
    }
    return next<ssize_t(int, void*, std::size_t, off_t)>("pread")(file, into, bytes, from);
}

ssize_t pread64(int file, void* into, std::size_t bytes, off64_t from) {
    return pread(file, into, bytes, from);
}

}  // extern "C"

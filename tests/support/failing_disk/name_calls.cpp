// SPDX-License-Identifier: Apache-2.0
// The calls that change names: rename, link, unlink, mkdir.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/failing_disk/counted_call.hpp"
#include "tests/support/failing_disk/open_path.hpp"
#include "tests/support/failing_disk/sync_journal.hpp"

using namespace lockstep::failing_disk;

namespace {

// A rename or link counts by its new name.
template <class Call>
int naming(Kind kind, int folder, const char* path, Call call) {
    return counted(kind, absolute(folder, path), [&](Act) { return call(); });
}

template <class Call>
int making(int folder, const char* path, Call call) {
    const std::string made = absolute(folder, path);
    return counted(
        Kind::mkdir, made, [&](Act) { return call(); },
        [&] { SyncJournal::of_this_process().made(made); });
}

template <class Call>
int removing(int folder, const char* path, Call call) {
    const std::string removed = absolute(folder, path);
    const unsigned long inode = SyncJournal::of_this_process().only_name_of(removed);
    return counted(
        Kind::unlink, removed, [&](Act) { return call(); },
        [&] { SyncJournal::of_this_process().removed(inode); });
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) noexcept {
    return naming(Kind::rename, AT_FDCWD, to,
                  [&] { return next<int(const char*, const char*)>("rename")(from, to); });
}

int renameat(int folder, const char* from, int into, const char* to) noexcept {
    return naming(Kind::rename, into, to, [&] {
        return next<int(int, const char*, int, const char*)>("renameat")(folder, from, into, to);
    });
}

int renameat2(int folder, const char* from, int into, const char* to, unsigned flags) noexcept {
    return naming(Kind::rename, into, to, [&] {
        return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(
            folder, from, into, to, flags);
    });
}

int link(const char* from, const char* to) noexcept {
    return naming(Kind::link, AT_FDCWD, to,
                  [&] { return next<int(const char*, const char*)>("link")(from, to); });
}

int linkat(int folder, const char* from, int into, const char* to, int flags) noexcept {
    return naming(Kind::link, into, to, [&] {
        return next<int(int, const char*, int, const char*, int)>("linkat")(folder, from, into, to,
                                                                            flags);
    });
}

int unlink(const char* path) noexcept {
    return removing(AT_FDCWD, path, [&] { return next<int(const char*)>("unlink")(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
    return removing(folder, path, [&] {
        return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
    });
}

int rmdir(const char* path) noexcept {
    return removing(AT_FDCWD, path, [&] { return next<int(const char*)>("rmdir")(path); });
}

int remove(const char* path) noexcept {
    return removing(AT_FDCWD, path, [&] { return next<int(const char*)>("remove")(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
    return making(AT_FDCWD, path,
                  [&] { return next<int(const char*, mode_t)>("mkdir")(path, mode); });
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
    return making(folder, path, [&] {
        return next<int(int, const char*, mode_t)>("mkdirat")(folder, path, mode);
    });
}

}  // extern "C"

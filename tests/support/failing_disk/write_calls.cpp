// SPDX-License-Identifier: Apache-2.0
// The calls that write, cut and sync files.
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/failing_disk/counted_call.hpp"
#include "tests/support/failing_disk/open_path.hpp"
#include "tests/support/failing_disk/sync_journal.hpp"

using namespace lockstep::failing_disk;

namespace {

std::size_t shortened(Act act, std::size_t bytes) {
    return act == Act::shorten && bytes > 1 ? bytes / 2 : bytes;
}

template <class Offset>
ssize_t write_at(const char* function, int file, const void* from, std::size_t bytes, Offset to) {
    return counted(Kind::write, open_path(file), [&](Act act) {
        return next<ssize_t(int, const void*, std::size_t, Offset)>(function)(
            file, from, shortened(act, bytes), to);
    });
}

int sync_by(const char* function, int file) {
    return counted(
        Kind::sync, open_path(file), [&](Act) { return next<int(int)>(function)(file); },
        [&] { SyncJournal::of_this_process().synced(file); });
}

template <class Offset>
int cut_by(const char* function, int file, Offset bytes) {
    return counted(Kind::truncate, open_path(file),
                   [&](Act) { return next<int(int, Offset)>(function)(file, bytes); });
}

template <class Offset>
int cut_path_by(const char* function, const char* path, Offset bytes) {
    return counted(Kind::truncate, absolute(AT_FDCWD, path),
                   [&](Act) { return next<int(const char*, Offset)>(function)(path, bytes); });
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* from, std::size_t bytes) {
    return counted(Kind::write, open_path(file), [&](Act act) {
        return next<ssize_t(int, const void*, std::size_t)>("write")(file, from,
                                                                     shortened(act, bytes));
    });
}

// A short vector ends with its first part.
ssize_t writev(int file, const iovec* parts, int count) {
    return counted(Kind::write, open_path(file), [&](Act act) {
        const int kept = act == Act::shorten ? std::min(count, 1) : count;
        return next<ssize_t(int, const iovec*, int)>("writev")(file, parts, kept);
    });
}

ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t to) {
    return write_at("pwrite", file, from, bytes, to);
}

ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t to) {
    return write_at("pwrite64", file, from, bytes, to);
}

int fsync(int file) { return sync_by("fsync", file); }
int fdatasync(int file) { return sync_by("fdatasync", file); }

int ftruncate(int file, off_t bytes) noexcept { return cut_by("ftruncate", file, bytes); }
int ftruncate64(int file, off64_t bytes) noexcept { return cut_by("ftruncate64", file, bytes); }
int truncate(const char* path, off_t bytes) noexcept {
    return cut_path_by("truncate", path, bytes);
}
int truncate64(const char* path, off64_t bytes) noexcept {
    return cut_path_by("truncate64", path, bytes);
}

}  // extern "C"

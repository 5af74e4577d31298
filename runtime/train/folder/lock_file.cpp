// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <iterator>
#include <utility>

#include "runtime/core/failure_reason.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/sync_descriptor.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::train {
namespace {

[[noreturn]] void refuse_kind(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::config, path + ": is " + what +
                                       ", not the file in which a run says that it has the folder; "
                                       "remove it or choose another --model-file");
}

// The name is looked up anew for each use: an open file would go on to show the text of a file that
// another host has replaced, and would be lost when a file server restarts. O_NONBLOCK: opening a
// pipe must not wait.
FileDescriptor open_lock(const std::string& path, int access) {
    return FileDescriptor(
        ::open(path.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

std::string text_of(const FileDescriptor& file, const std::string& path) {
    // A lock has a few hundred bytes.
    std::array<char, 1 << 14> bytes{};
    const ssize_t got = ::pread(file.raw(), bytes.data(), bytes.size(), 0);
    if (got < 0) throw_errno("cannot be read", path);
    return {bytes.data(), static_cast<std::size_t>(got)};
}

LockContent read_once(const std::string& path) {
    const FileDescriptor file = open_lock(path, O_RDONLY);
    if (!file && errno == ENOENT) return {};
    if (!file && errno == ELOOP) refuse_kind(path, "a symbolic link");
    if (!file && errno == ENXIO) refuse_kind(path, "a socket or device");
    if (!file && errno == EACCES)
        throw SystemFailure(path + ": cannot be read: " + failure_reason(EACCES) +
                                "; another user's run has made it: ask that user to remove it when "
                                "the run has ended, or choose another --model-file",
                            EACCES);
    struct stat facts {};
    if (!file || ::fstat(file.raw(), &facts) != 0) throw_errno("cannot be read", path);
    if (S_ISDIR(facts.st_mode)) refuse_kind(path, "a folder");
    if (S_ISFIFO(facts.st_mode)) refuse_kind(path, "a pipe");
    if (!S_ISREG(facts.st_mode)) refuse_kind(path, "a device");
    std::string text = text_of(file, path);
    const auto owner = owner_from(text);
    return {true, std::move(text), owner};
}

bool has_two_names(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && facts.st_nlink == 2;
}

[[noreturn]] void fail_to_make(const std::string& path, int code) {
    throw SystemFailure(path + ": cannot be made: " + writing_failure_reason(code), code);
}

// Serves file systems without links. A reader may see an empty file for a moment.
bool create_without_link(const std::string& path, const std::string& text) {
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file && errno == EEXIST) return false;
    if (!file) fail_to_make(path, errno);
    try {
        if (::write(file.raw(), text.data(), text.size()) != std::ssize(text))
            fail_to_make(path, errno);
        sync_descriptor(file.raw(), path);
    } catch (...) {
        ::unlink(path.c_str());
        throw;
    }
    return true;
}

// These are the answers of file systems that have no links, or not here: FUSE, SMB, AFS, overlays,
// and a system that lets nobody link another user's file, as which a file server stores this one.
bool has_no_links(int code) {
    return code == EPERM || code == EOPNOTSUPP || code == ENOSYS || code == EINVAL ||
           code == EMLINK || code == EXDEV || code == EACCES;
}

// Removes the file at its end.
class TemporaryFile {
public:
    TemporaryFile(std::string path, const std::string& text) : path_(std::move(path)) {
        OutputFile file(path_, OutputFile::Mode::create);
        try {
            file.write(text);
            file.sync();
            file.close();
        } catch (...) {
            ::unlink(path_.c_str());
            throw;
        }
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { ::unlink(path_.c_str()); }
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

std::string temporary_name(const std::string& path) { return path + ".tmp-" + random_name(); }

}  // namespace

LockContent read_lock(const std::string& path) {
    return retry_reading([&] { return read_once(path); });
}

// NFS may lose the answer to a link that was made, so the count of names decides.
bool create_lock(const std::string& path, const LockOwner& owner) {
    const std::string text = to_json(owner);
    const TemporaryFile own(temporary_name(path), text);
    if (::link(own.path().c_str(), path.c_str()) == 0) return true;
    const int code = errno;
    if (has_two_names(own.path())) return true;
    if (code == EEXIST) return false;
    if (has_no_links(code)) return create_without_link(path, text);
    fail_to_make(path, code);
}

void replace_lock(const std::string& path, const LockOwner& owner) {
    const TemporaryFile own(temporary_name(path), to_json(owner));
    rename_over(own.path(), path);
}

Beat write_beat(const std::string& path, const LockOwner& owner) noexcept {
    try {
        const FileDescriptor file = open_lock(path, O_RDWR);
        if (!file) return errno == ENOENT ? Beat::lost : Beat::failed;
        const auto found = owner_from(text_of(file, path));
        if (!found) return Beat::failed;
        if (found->run != owner.run) return Beat::lost;
        const std::string text = to_json(owner);
        const bool written = ::pwrite(file.raw(), text.data(), text.size(), 0) == std::ssize(text);
        return written ? Beat::done : Beat::failed;
    } catch (const std::exception&) {
        return Beat::failed;
    }
}

}  // namespace lockstep::train

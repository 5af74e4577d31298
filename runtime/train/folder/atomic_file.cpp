// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/files/rename_once.hpp"
#include "runtime/files/sync_descriptor.hpp"
#include "runtime/train/folder/lock_owner.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = std::size_t{8} << 20;
constexpr std::int64_t window_bytes = std::int64_t{32} << 20;
constexpr std::string_view leftover_mark = ".tmp-";

[[noreturn]] void fail(const std::string& what, const std::string& path, int code) {
    throw SystemFailure(path + ": " + what + ": " + writing_failure_reason(code), code);
}

// A temporary name, or the one that an older folder has for a moment while it is replaced.
bool is_leftover(std::string_view filename) {
    if (const std::string aside = name_aside(""); filename.ends_with(aside))
        filename.remove_suffix(aside.size());
    const std::size_t at = filename.rfind(leftover_mark);
    if (at == std::string_view::npos || at + leftover_mark.size() == filename.size()) return false;
    return filename.find_first_not_of("0123456789abcdef", at + leftover_mark.size()) ==
           std::string_view::npos;
}

// While a folder is replaced by renames, the older one may be the only one of its name.
bool may_go(const std::string& folder, const std::string& filename) {
    if (!is_leftover(filename)) return false;
    if (!filename.ends_with(name_aside(""))) return true;
    std::error_code unknown;
    return fs::exists(folder + "/" + filename.substr(0, filename.rfind(leftover_mark)), unknown);
}

fs::path parent_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void remove_quietly(const std::string& path) noexcept {
    try {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    } catch (const std::exception&) {
        // There is no memory to look into the folder; a later save removes it.
    }
}

// Returns the path of the file that a rename to `path` is to replace.
std::string replaceable(const std::string& path) {
    std::string file = followed_path(path);
    if (!path_exists(file)) return path;
    if (!is_file(file))
        throw Error(ErrorKind::io,
                    path + ": is no regular file, and is not replaced; choose another name");
    return file;
}

}  // namespace

OutputFile::OutputFile(std::string path, Mode mode)
    : path_(std::move(path)),
      file_(::open(
          path_.c_str(),
          O_WRONLY | O_CREAT | O_CLOEXEC | (mode == Mode::append ? O_APPEND | O_NOFOLLOW : O_EXCL),
          0666)) {
    if (!file_) fail("cannot be opened for writing", path_, errno);
}

void OutputFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written =
            ::write(file_.raw(), bytes.data(), std::min(bytes.size(), block_bytes));
        if (written < 0 && errno == EINTR) continue;
        // A file system that takes nothing and gives no reason must not be asked for ever.
        if (written <= 0) fail("cannot be written", path_, written == 0 ? EIO : errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        send_to_disk(written);
    }
}

// The system would otherwise keep gigabytes in memory until sync(), which would then take minutes
// without any visible progress. The disk works on one window while the next one is filled.
void OutputFile::send_to_disk(std::int64_t written) {
    pending_ += written;
    if (pending_ < window_bytes) return;
    constexpr unsigned wait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    ::sync_file_range(file_.raw(), sent_, pending_, SYNC_FILE_RANGE_WRITE);
    const bool failed = last_window_ > 0 && ::sync_file_range(file_.raw(), sent_ - last_window_,
                                                              last_window_, wait) != 0;
    // The system reports a failed write once only, so sync() would not hear of it again. Some files
    // cannot be sent in parts; sync() is enough for them.
    if (failed && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        fail("cannot be written", path_, errno);
    sent_ += pending_;
    last_window_ = std::exchange(pending_, 0);
}

void OutputFile::sync() { sync_descriptor(file_.raw(), path_); }

// An interrupted close has closed the file, whose data are on disk by sync().
void OutputFile::close() {
    const int raw = file_.release();
    if (raw >= 0 && ::close(raw) != 0 && errno != EINTR) fail("cannot be written", path_, errno);
}

AtomicFile::AtomicFile(const std::string& path)
    : path_(replaceable(path)), file_(leftover_name(path_), OutputFile::Mode::create) {}

AtomicFile::~AtomicFile() {
    if (!committed_) ::unlink(file_.path().c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    // Each block is hashed while it is in the processor's cache for the system's copy.
    constexpr std::size_t cached_bytes = std::size_t{1} << 20;
    while (!bytes.empty()) {
        const auto block = bytes.first(std::min(bytes.size(), cached_bytes));
        file_.write(block);
        hash_.add(block.data(), block.size());
        bytes_ += block.size();
        bytes = bytes.subspan(block.size());
    }
}

WrittenFile AtomicFile::commit() {
    file_.sync();
    file_.close();
    rename_over(file_.path(), path_);
    committed_ = true;
    // A rename is on disk only once its folder is synced.
    sync_folder(parent_of(path_).string());
    return {bytes_, hash_.value()};
}

WrittenFile write_atomically(const std::string& path, std::string_view text) {
    AtomicFile file(path);
    file.write(text);
    return file.commit();
}

AtomicDirectory::AtomicDirectory(const std::string& path)
    : final_(path), temporary_(leftover_name(path)) {
    remove_quietly(temporary_);
    std::error_code failure;
    fs::create_directory(temporary_, failure);
    if (failure) fail("cannot be made", temporary_, failure.value());
}

AtomicDirectory::~AtomicDirectory() {
    if (!committed_) remove_quietly(temporary_);
}

void AtomicDirectory::commit() {
    sync_folder(temporary_);
    // If a replacement fails, the temporary name may already have the older folder. It is then a
    // leftover, which a later save removes.
    committed_ = path_exists(final_);
    put_folder(temporary_, final_);
    committed_ = true;
    remove_quietly(temporary_);
}

// A process number is the same in many containers, so the name is random.
std::string leftover_name(const std::string& path) {
    return path + std::string(leftover_mark) + random_name();
}

void rename_over(const std::string& from, const std::string& to) {
    if (const int code = rename_once(from, to)) fail("cannot be put in place", to, code);
}

int remove_leftovers(const std::string& folder, std::span<const std::string_view> of) {
    std::vector<fs::path> leftovers;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure)) {
        const std::string name = entry.path().filename().string();
        const auto writes = [&](std::string_view file) {
            return name.starts_with(std::string(file) + std::string(leftover_mark));
        };
        if (may_go(folder, name) && (of.empty() || std::ranges::any_of(of, writes)))
            leftovers.push_back(entry.path());
    }
    for (const fs::path& path : leftovers) remove_quietly(path.string());
    return static_cast<int>(leftovers.size());
}

}  // namespace lockstep::train

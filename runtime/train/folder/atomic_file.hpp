// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::train {

// Writes a file without buffering. A file that is created must not exist before, not even as a
// link: in a folder that several people write into, it could be somebody else's. Every failure
// throws SystemFailure with the path, the system's reason (disk full, read-only, ...) and a remedy.
class OutputFile {
public:
    enum class Mode { create, append };

    OutputFile(std::string path, Mode mode);

    const std::string& path() const noexcept { return path_; }
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void sync();   // returns when the data is on disk
    void close();  // reports the errors that only closing reveals

private:
    void send_to_disk(std::int64_t written);

    std::string path_;
    FileDescriptor file_;
    // The bytes that were sent to the disk, those of them that were sent last, and later ones.
    std::int64_t sent_ = 0, last_window_ = 0, pending_ = 0;
};

// Is called before a file or folder gets its final name; what it throws prevents that. Empty:
// nothing is called.
using BeforeCommit = std::function<void()>;

// Describes a file that was written: its size and XXH3, calculated on the way.
struct WrittenFile {
    std::uint64_t bytes = 0, xxh3 = 0;
};

// Makes a file appear under its name complete and on disk, or not at all: it is written under a
// temporary name, synced and renamed. If commit() is not called, nothing remains. A symbolic link
// stays, and the file it names is replaced. A path that is not a regular file (a device, a pipe) is
// not replaced; kind io is thrown.
class AtomicFile {
public:
    explicit AtomicFile(const std::string& path);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    WrittenFile commit();

private:
    std::string path_;
    OutputFile file_;
    StreamHash hash_;
    std::uint64_t bytes_ = 0;
    bool committed_ = false;
};

WrittenFile write_atomically(const std::string& path, std::string_view text);

// Makes a folder appear complete or not at all: fill path(), then call commit(). An existing folder
// of that name is replaced. The caller must sync the files in it.
class AtomicDirectory {
public:
    explicit AtomicDirectory(const std::string& path);
    AtomicDirectory(const AtomicDirectory&) = delete;
    AtomicDirectory& operator=(const AtomicDirectory&) = delete;
    ~AtomicDirectory();

    const std::string& path() const noexcept { return temporary_; }
    void commit();

private:
    std::string final_, temporary_;
    bool committed_ = false;
};

// Renames a file or a folder; an existing file of that name is replaced.
void rename_over(const std::string& from, const std::string& to);

// Returns a new name beside `path` that remove_leftovers() takes for a leftover.
std::string leftover_name(const std::string& path);

// Removes the files that interrupted writers left in `folder` and returns their number. No writer
// may be active there. If `of` is not empty, only the leftovers of the files of these names count.
int remove_leftovers(const std::string& folder, std::span<const std::string_view> of = {});

}  // namespace lockstep::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep::train {

// A file being written, without buffering. Whatever fails is an io error that names the path, the
// system's reason (disk full, read-only, ...) and what to do about it.
class OutputFile {
public:
    enum class Mode { replace, append };

    OutputFile(std::string path, Mode mode);

    const std::string& path() const noexcept { return path_; }
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void sync();   // on disk when this returns
    void close();  // called for the errors that only closing reports

private:
    std::string path_;
    FileDescriptor file_;
};

// A file that appears under its name complete and on disk, or not at all: written beside, synced,
// renamed. Without commit() nothing stays. A symbolic link stays one, and its file is replaced;
// what is no regular file (a device, a pipe) is not replaced: an io error says so.
class AtomicFile {
public:
    explicit AtomicFile(const std::string& path);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes) { file_.write(bytes); }
    void write(std::string_view text) { file_.write(text); }
    void commit();

private:
    std::string path_;
    OutputFile file_;
    bool committed_ = false;
};

void write_atomically(const std::string& path, std::string_view text);

// The same for a folder: fill path(), then commit(); a folder that had the name before is replaced.
// The files put in are synced by who writes them.
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

// Makes the folder and those above it; existing ones are fine.
void make_folders(const std::string& path);

// Removes what interrupted writers left in `folder`; returns how many. No writer may be at work
// there.
int remove_leftovers(const std::string& folder);

}  // namespace lockstep::train

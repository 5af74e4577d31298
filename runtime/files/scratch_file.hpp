// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/view.hpp"

namespace lockstep {

// Numbers that lie in a file. `values` is that range of the file, mapped into memory.
struct ScratchRange {
    std::uint64_t first = 0;  // byte of the file
    HostView<float> values = {};
};

// A file of numbers that is of use only to this object. It has no name, so that it goes when the
// object goes or the process ends, however it ends, and two objects never meet. read() and write()
// move blocks past the page cache where the file system can (O_DIRECT). The ranges' values show
// what was written last, by either way; but flush() must be called between writing them and read().
class ScratchFile {
public:
    static constexpr std::size_t block = 4096;  // bytes
    static constexpr std::size_t block_values = block / sizeof(float);

    // Throws kind config, naming the folder, if no file can be made there.
    explicit ScratchFile(const std::string& folder);
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    ~ScratchFile();

    // Takes the disk's room for that many bytes in all. Throws kind config if there is none.
    void reserve(std::uint64_t bytes);
    // Makes the file longer by that many zeros, for which it takes room, and by what is missing to
    // whole blocks. Throws as reserve() does.
    ScratchRange extend(std::size_t values);
    // Returns the bytes that extend() takes for so many values.
    static constexpr std::size_t bytes_of(std::size_t values) noexcept {
        return (values + block_values - 1) / block_values * block;
    }

    // Move whole blocks; the file's byte and the memory begin at a multiple of block, too. Throw
    // SystemFailure, which names the file and the call. One thread may call them while another
    // waits for it.
    void read(std::uint64_t first, HostView<float> to);
    void write(std::uint64_t first, HostView<const float> from);
    // Returns when what was written to the ranges' values is on disk. Throws SystemFailure.
    void flush() const;
    // Reads all once. Throws SystemFailure if that fails, where a look at the ranges' values would
    // end the process.
    void check_readable() const;

    // Tells whether read() and write() pass the page cache by; known after reserve().
    bool is_direct() const noexcept { return direct_.raw() >= 0; }
    const std::string& path() const noexcept { return path_; }

private:
    void make(const std::string& folder);
    void probe();
    int descriptor() const noexcept { return is_direct() ? direct_.raw() : mapped_.raw(); }
    [[noreturn]] void fail(const char* call, int code) const;

    std::string path_;  // that it had for a moment
    FileDescriptor mapped_, direct_;
    std::uint64_t room_ = 0, size_ = 0;  // bytes that are taken, and those of the ranges
    std::vector<HostView<std::byte>> mappings_;
};

}  // namespace lockstep

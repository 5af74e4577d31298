// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/unique_handle.hpp"

struct gzFile_s;

namespace lockstep::data {

// A file of text, read in order; compressed by gzip or not, which its first bytes tell.
class InputFile {
public:
    InputFile() noexcept = default;
    // Throws an io error that names a file which cannot be read.
    explicit InputFile(const std::string& path);

    // Fewer than `bytes` only at the end of the text. Throws an io error when the disk fails.
    // Where the compressed data is damaged or cut off, `damage` says so after what could be read.
    std::size_t read(char* out, std::size_t bytes, std::string& damage);
    // Bytes of the file itself, compressed or not, that have been read.
    std::uint64_t position() const;
    explicit operator bool() const noexcept { return static_cast<bool>(file_); }

private:
    struct FileTraits {
        using Raw = gzFile_s*;
        static Raw null() noexcept { return nullptr; }
        static void destroy(Raw raw) noexcept;
    };

    std::string path_;
    UniqueHandle<FileTraits> file_;
};

}  // namespace lockstep::data

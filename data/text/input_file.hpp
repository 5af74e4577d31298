// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::data {

// A file of text, read in order; compressed by gzip or not, which its first bytes tell.
class InputFile {
public:
    InputFile() noexcept;
    // Throws an io error that names a file which cannot be read.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(InputFile&&) noexcept;
    InputFile& operator=(InputFile&&) noexcept;

    // Fewer than `bytes` only at the end of the text. Throws an io error when the disk fails.
    // Where the compressed data is damaged, cut off or followed by something else, `damage` says so
    // after what could be read. Zeros behind it, as of a tape's blocks, are no damage.
    std::size_t read(char* out, std::size_t bytes, std::string& damage);
    // Bytes of the file itself, compressed or not, that have been used.
    std::uint64_t position() const;
    explicit operator bool() const noexcept { return static_cast<bool>(source_); }

private:
    class Source;
    std::unique_ptr<Source> source_;
};

}  // namespace lockstep::data

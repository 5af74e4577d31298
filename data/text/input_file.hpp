// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::data {

// Reads a text file in order. The first bytes tell if it is compressed by gzip.
class InputFile {
public:
    InputFile() noexcept;
    // Throws an io error that names the file if it cannot be read.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(InputFile&&) noexcept;
    InputFile& operator=(InputFile&&) noexcept;

    // Returns fewer than `bytes` only at the end of the text. Throws an io error if the disk fails.
    // If the compressed data is damaged, cut off or followed by other data, `damage` describes this
    // after the readable part. Zeros after the data, such as padding of a tape block, are not
    // damage.
    std::size_t read(char* out, std::size_t bytes, std::string& damage);
    // Returns the number of bytes of the file itself, compressed or not, that have been used.
    std::uint64_t position() const;
    explicit operator bool() const noexcept { return static_cast<bool>(source_); }

private:
    class Source;
    std::unique_ptr<Source> source_;
};

}  // namespace lockstep::data

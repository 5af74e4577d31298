// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "data/hdf5/hdf5_section.hpp"

namespace lockstep::data {

// Writes an HDF5 file. Every failure is an io error that names the file, which is then unusable.
class Hdf5Output {
public:
    explicit Hdf5Output(std::string path);
    ~Hdf5Output();
    Hdf5Output(const Hdf5Output&) = delete;
    Hdf5Output& operator=(const Hdf5Output&) = delete;

    void attribute(const char* name, std::int64_t value);
    void attribute(const char* name, std::string_view value);
    // Completes the file on disk. All its columns must be closed before.
    void close();

    const std::string& path() const noexcept { return path_; }
    hid_t raw() const noexcept { return file_.raw(); }
    // Throws if the result of an HDF5 call is negative.
    template <class Result>
    Result check(Result result, const Hdf5Section& section) const {
        if (result < 0) fail(section.reason());
        return result;
    }

private:
    [[noreturn]] void fail(const std::string& reason) const;

    std::string path_;
    Hdf5File file_;
};

// Writes an extendible dataset [n] or [n, width], chunked and with Fletcher32 checksums, from front
// to back. Only whole chunks are written before close(), so the buffer never exceeds one chunk.
class Hdf5Column {
public:
    Hdf5Column(Hdf5Output& file, const std::string& name, hid_t type, std::size_t element_bytes,
               hsize_t width, hsize_t chunk_rows);
    ~Hdf5Column();
    Hdf5Column(Hdf5Column&& other) noexcept = default;

    // Appends values. Their number must be a multiple of the width.
    template <class T>
    void append(std::span<const T> values) {
        append_bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }
    template <class T>
    requires std::is_arithmetic_v<T>
    void append(T value) { append(std::span<const T>(&value, 1)); }
    // Writes the buffer. Nothing can be appended afterwards.
    void close();

private:
    void append_bytes(const char* data, std::size_t bytes);
    void write_buffer();

    Hdf5Output* file_;
    hid_t type_;
    std::size_t row_bytes_;
    hsize_t width_, rows_ = 0;
    std::size_t chunk_bytes_;
    std::vector<char> buffer_;
    Hdf5Dataset dataset_;
};

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#include "data/hdf5/hdf5_read.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::data::hdf5 {
namespace {

template <class T>
hid_t native_type() {
    if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
    if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
    if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
}

constexpr std::size_t longest_text_bytes = 4096;

// Opens an attribute of one value. H5Aread writes the whole attribute whatever the size of its
// destination, so an attribute of several values must not be read.
Hdf5Attribute open_value(const Hdf5File& file, const char* name) {
    Hdf5Attribute attribute(H5Aopen(file.raw(), name, H5P_DEFAULT));
    if (!attribute) return attribute;
    const Hdf5Space space(H5Aget_space(attribute.raw()));
    return H5Sget_simple_extent_type(space.raw()) == H5S_SCALAR ? std::move(attribute)
                                                                : Hdf5Attribute();
}

// Reads `count` elements from `start` on. Both have one value per dimension of the dataset.
template <class T>
Outcome read_part(const Column& column, const hsize_t* start, const hsize_t* count,
                  std::span<T> out) {
    if (!holds(column, *start, *count)) return Outcome::absent;
    const Hdf5Dataset& dataset = column.dataset;
    const hsize_t elements = out.size();
    const Hdf5Space stored(H5Dget_space(dataset.raw()));
    const Hdf5Space memory(H5Screate_simple(1, &elements, nullptr));
    if (H5Sselect_hyperslab(stored.raw(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0)
        return Outcome::failed;
    const herr_t status = H5Dread(dataset.raw(), native_type<T>(), memory.raw(), stored.raw(),
                                  H5P_DEFAULT, out.data());
    return status >= 0 ? Outcome::done : Outcome::failed;
}

}  // namespace

Hdf5File open_file(const std::string& path) {
    const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_file_locking(access.raw(), 0, 1);
    return Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.raw()));
}

void require_openable(const std::string& path, const std::string& reason) {
    // Another thread may have closed a file since, and the next attempt would succeed.
    for (const int code : {EMFILE, ENFILE, ENOMEM, EIO, ESTALE}) {
        if (reason.find(std::generic_category().message(code)) == std::string::npos) continue;
        errno = code;
        throw_errno("cannot be opened", path);
    }
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno != ENOENT) throw_errno("cannot be opened", path);
}

std::optional<std::int64_t> read_integer(const Hdf5File& file, const char* name) {
    const Hdf5Attribute attribute = open_value(file, name);
    if (!attribute) return std::nullopt;
    const Hdf5Type stored(H5Aget_type(attribute.raw()));
    std::int64_t value = 0;
    if (H5Tget_class(stored.raw()) != H5T_INTEGER || H5Tget_size(stored.raw()) > sizeof value ||
        H5Aread(attribute.raw(), H5T_NATIVE_INT64, &value) < 0)
        return std::nullopt;
    return value;
}

std::optional<std::string> read_text(const Hdf5File& file, const char* name) {
    const Hdf5Attribute attribute = open_value(file, name);
    if (!attribute) return std::nullopt;
    const Hdf5Type stored(H5Aget_type(attribute.raw()));
    const std::size_t bytes = H5Tget_size(stored.raw());
    if (H5Tget_class(stored.raw()) != H5T_STRING || H5Tis_variable_str(stored.raw()) != 0 ||
        bytes == 0 || bytes > longest_text_bytes)
        return std::nullopt;
    std::string text(bytes, '\0');
    if (H5Aread(attribute.raw(), stored.raw(), text.data()) < 0) return std::nullopt;
    return text.substr(0, text.find('\0'));
}

template <class T>
Outcome read(const Column& column, std::uint64_t first, std::span<T> out) {
    if (out.empty()) return Outcome::done;
    const hsize_t start = first, count = out.size();
    return read_part(column, &start, &count, out);
}

Outcome read_rows(const Column& column, std::uint64_t first_row, std::span<std::int32_t> out) {
    if (out.empty()) return Outcome::done;
    const std::array<hsize_t, 2> start{first_row, 0},
        count{out.size() / column.width, column.width};
    return read_part(column, start.data(), count.data(), out);
}

template Outcome read(const Column&, std::uint64_t, std::span<std::int32_t>);
template Outcome read(const Column&, std::uint64_t, std::span<std::uint32_t>);
template Outcome read(const Column&, std::uint64_t, std::span<std::uint64_t>);
template Outcome read(const Column&, std::uint64_t, std::span<std::uint8_t>);

std::string reason_of(Outcome outcome, const Hdf5Section& section) {
    return outcome == Outcome::absent ? "a part of them is not in the file" : section.reason();
}

}  // namespace lockstep::data::hdf5

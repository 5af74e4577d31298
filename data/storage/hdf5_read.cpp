// SPDX-License-Identifier: Apache-2.0
#include "data/storage/hdf5_read.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <new>
#include <type_traits>

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

std::optional<std::string> read_variable_text(const Hdf5Attribute& attribute) {
    const Hdf5Type memory(H5Tcopy(H5T_C_S1));
    H5Tset_size(memory.raw(), H5T_VARIABLE);
    const Hdf5Type stored(H5Aget_type(attribute.raw()));
    H5Tset_cset(memory.raw(), H5Tget_cset(stored.raw()));
    char* text = nullptr;
    if (H5Aread(attribute.raw(), memory.raw(), &text) < 0 || text == nullptr) return std::nullopt;
    std::string copy(text);
    H5free_memory(text);
    return copy;
}

herr_t note_allocation(unsigned, const H5E_error2_t* error, void* failed) {
    *static_cast<bool*>(failed) = error->maj_num == H5E_RESOURCE || error->min_num == H5E_NOSPACE ||
                                  error->min_num == H5E_CANTALLOC;
    return 1;  // stops the walk: the first error of an upward walk is the cause
}

// Returns true if the last call failed because of a lack of memory. The next HDF5 call clears this.
bool lacked_memory() {
    bool failed = false;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_allocation, &failed);
    return failed;
}

Hdf5Dataset open(const Hdf5File& file, const char* name, std::size_t cache_bytes, int dimensions) {
    constexpr std::size_t slots = 521;   // prime, and far more than chunks in the cache
    constexpr double evict_whole = 1.0;  // a chunk that was read to its end is not needed again
    const Hdf5Properties access(H5Pcreate(H5P_DATASET_ACCESS));
    H5Pset_chunk_cache(access.raw(), slots, cache_bytes, evict_whole);
    Hdf5Dataset dataset(H5Dopen2(file.raw(), name, access.raw()));
    if (!dataset) return dataset;
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    const bool as_asked = H5Sget_simple_extent_ndims(space.raw()) == dimensions;
    return as_asked ? std::move(dataset) : Hdf5Dataset();
}

// Reads `count` elements from `start` on. Both have one value per dimension of the dataset.
template <class T>
Outcome read_part(const Hdf5Dataset& dataset, const hsize_t* start, const hsize_t* count,
                  std::span<T> out) {
    const hsize_t elements = out.size();
    const Hdf5Space stored(H5Dget_space(dataset.raw()));
    const Hdf5Space memory(H5Screate_simple(1, &elements, nullptr));
    if (H5Sselect_hyperslab(stored.raw(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0)
        return Outcome::failed;
    const herr_t status = H5Dread(dataset.raw(), native_type<T>(), memory.raw(), stored.raw(),
                                  H5P_DEFAULT, out.data());
    if (status >= 0) return Outcome::done;
    if (lacked_memory()) throw std::bad_alloc();  // the file itself may be intact
    return Outcome::failed;
}

}  // namespace

Hdf5File open_file(const std::string& path) {
    Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_file_locking(access.raw(), 0, 1);
    Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.raw()));
    if (file) return file;
    // Closing the properties would clear the reason.
    const hid_t reason = H5Eget_current_stack();
    access = Hdf5Properties();
    H5Eset_current_stack(reason);
    return file;
}

void require_openable(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno != ENOENT) throw_errno("cannot be opened", path);
}

Hdf5Dataset open_dataset(const Hdf5File& file, const char* name, std::size_t cache_bytes) {
    return open(file, name, cache_bytes, 1);
}

Hdf5Dataset open_pairs(const Hdf5File& file, const char* name, std::size_t cache_bytes) {
    return open(file, name, cache_bytes, 2);
}

std::uint64_t size(const Hdf5Dataset& dataset) {
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    const hssize_t points = H5Sget_simple_extent_npoints(space.raw());
    return points > 0 ? static_cast<std::uint64_t>(points) : 0;
}

std::optional<std::int64_t> read_integer(const Hdf5File& file, const char* name) {
    const Hdf5Attribute attribute(H5Aopen(file.raw(), name, H5P_DEFAULT));
    std::int64_t value = 0;
    if (!attribute || H5Aread(attribute.raw(), H5T_NATIVE_INT64, &value) < 0) return std::nullopt;
    return value;
}

std::optional<std::string> read_text(const Hdf5File& file, const char* name) {
    const Hdf5Attribute attribute(H5Aopen(file.raw(), name, H5P_DEFAULT));
    if (!attribute) return std::nullopt;
    const Hdf5Type stored(H5Aget_type(attribute.raw()));
    if (H5Tget_class(stored.raw()) != H5T_STRING) return std::nullopt;
    if (H5Tis_variable_str(stored.raw()) > 0) return read_variable_text(attribute);
    std::string text(H5Tget_size(stored.raw()), '\0');
    if (H5Aread(attribute.raw(), stored.raw(), text.data()) < 0) return std::nullopt;
    return std::string(text.c_str());
}

template <class T>
Outcome read(const Hdf5Dataset& dataset, std::uint64_t first, std::span<T> out) {
    if (out.empty()) return Outcome::done;
    const hsize_t start = first, count = out.size();
    return read_part(dataset, &start, &count, out);
}

Outcome read_pairs(const Hdf5Dataset& dataset, std::uint64_t first_row,
                   std::span<std::int32_t> out) {
    if (out.empty()) return Outcome::done;
    const std::array<hsize_t, 2> start{first_row, 0}, count{out.size() / 2, 2};
    return read_part(dataset, start.data(), count.data(), out);
}

template Outcome read(const Hdf5Dataset&, std::uint64_t, std::span<std::int32_t>);
template Outcome read(const Hdf5Dataset&, std::uint64_t, std::span<std::uint32_t>);
template Outcome read(const Hdf5Dataset&, std::uint64_t, std::span<std::uint64_t>);
template Outcome read(const Hdf5Dataset&, std::uint64_t, std::span<std::uint8_t>);

}  // namespace lockstep::data::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "data/hdf5/hdf5_column.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace lockstep::data::hdf5 {
namespace {

constexpr std::uint64_t checksum_bytes = 4;
// prepare writes chunks of at most 256 KiB. A chunk is held in memory whole.
constexpr std::uint64_t largest_chunk_bytes = std::uint64_t{4} << 20;

// A soft or external link leads to another place, perhaps to another file.
bool is_hard_link(const Hdf5File& file, const std::string& name) {
    H5L_info_t info{};
    for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
        const std::string part = name.substr(0, end);
        if (H5Lget_info(file.raw(), part.c_str(), &info, H5P_DEFAULT) < 0 ||
            info.type != H5L_TYPE_HARD)
            return false;
        if (end == std::string::npos) return true;
    }
}

bool has_layout(const Hdf5Properties& creation) {
    return H5Pget_layout(creation.raw()) == H5D_CHUNKED &&
           H5Pget_external_count(creation.raw()) == 0;
}

bool has_only_checksums(const Hdf5Properties& creation) {
    unsigned flags = 0;
    std::size_t values = 0;
    return H5Pget_nfilters(creation.raw()) == 1 &&
           H5Pget_filter2(creation.raw(), 0, &flags, &values, nullptr, 0, nullptr, nullptr) ==
               H5Z_FILTER_FLETCHER32;
}

// Reads the shape and the size of chunks. Returns false if they are not of this type.
bool read_shape(const Hdf5Dataset& dataset, const Hdf5Properties& creation, ColumnType type,
                Column& column) {
    const Hdf5Type stored(H5Dget_type(dataset.raw()));
    if (H5Tequal(stored.raw(), type.type) <= 0) return false;
    const int dimensions = type.width == 1 ? 1 : 2;
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    if (H5Sget_simple_extent_ndims(space.raw()) != dimensions) return false;
    std::array<hsize_t, 2> shape{0, 1}, chunk{0, 1};
    if (H5Sget_simple_extent_dims(space.raw(), shape.data(), nullptr) != dimensions ||
        H5Pget_chunk(creation.raw(), dimensions, chunk.data()) != dimensions)
        return false;
    const std::uint64_t row_bytes = H5Tget_size(type.type) * type.width;
    if (shape[1] != type.width || chunk[1] != type.width || chunk[0] == 0 ||
        chunk[0] > largest_chunk_bytes / row_bytes)
        return false;
    column.type = type.type;
    column.rows = shape[0];
    column.width = type.width;
    column.chunk_rows = chunk[0];
    column.stored_chunk_bytes = chunk[0] * row_bytes + checksum_bytes;
    return true;
}

std::uint64_t chunks_of(const Column& column) {
    return column.rows / column.chunk_rows + (column.rows % column.chunk_rows != 0 ? 1 : 0);
}

// Returns true if the file has the bytes of all chunks. The library sums the sizes in the index.
bool is_stored(const Hdf5File& file, const Hdf5Dataset& dataset, const Column& column) {
    hsize_t file_bytes = 0;
    if (H5Fget_filesize(file.raw(), &file_bytes) < 0) return false;
    const std::uint64_t chunks = chunks_of(column);
    return chunks <= file_bytes / column.stored_chunk_bytes &&
           H5Dget_storage_size(dataset.raw()) == chunks * column.stored_chunk_bytes;
}

bool is_in_index(const Column& column, std::uint64_t chunk) {
    const std::array<hsize_t, 2> begin{chunk * column.chunk_rows, 0};
    hsize_t bytes = 0;
    return H5Dget_chunk_storage_size(column.dataset.raw(), begin.data(), &bytes) >= 0 &&
           bytes == column.stored_chunk_bytes;
}

// Returns true if the chunk's values are more than one and all zero. The library keeps the chunk
// that it reads here for the values that are asked for next.
bool is_all_zero(const Column& column, std::uint64_t chunk) {
    const std::array<hsize_t, 2> begin{chunk * column.chunk_rows, 0};
    const std::array<hsize_t, 2> count{std::min<hsize_t>(column.chunk_rows, column.rows - begin[0]),
                                       column.width};
    const hsize_t elements = count[0] * count[1];
    std::vector<char> bytes(elements * H5Tget_size(column.type));
    const Hdf5Space stored(H5Dget_space(column.dataset.raw()));
    const Hdf5Space memory(H5Screate_simple(1, &elements, nullptr));
    H5Sselect_hyperslab(stored.raw(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    const herr_t status = H5Dread(column.dataset.raw(), column.type, memory.raw(), stored.raw(),
                                  H5P_DEFAULT, bytes.data());
    // The reader meets the same failure and reports it.
    return status >= 0 && elements > 1 && std::ranges::count(bytes, '\0') == std::ssize(bytes);
}

Column refused(std::string problem) {
    Column column;
    column.problem = std::move(problem);
    return column;
}

}  // namespace

Column open_column(const Hdf5File& file, const std::string& name, ColumnType type,
                   std::size_t cache_bytes) {
    constexpr std::size_t slots = 521;  // prime, and far more than chunks in the cache
    // Of the chunks used longest ago, those that were read to their ends go first. With 1 only
    // these would go, and the cache would grow with the rows that are cut.
    constexpr double evict_whole = 0.75;
    if (!is_hard_link(file, name)) return refused("it is not in the file");
    const Hdf5Properties access(H5Pcreate(H5P_DATASET_ACCESS));
    H5Pset_chunk_cache(access.raw(), slots, cache_bytes, evict_whole);
    Hdf5Dataset dataset(H5Dopen2(file.raw(), name.c_str(), access.raw()));
    if (!dataset) return refused("it cannot be opened");
    // A virtual dataset may name itself, and asking for its shape would then never end. So the
    // layout comes first.
    const Hdf5Properties creation(H5Dget_create_plist(dataset.raw()));
    if (!has_layout(creation)) return refused("its values are not in chunks of this file");
    if (!has_only_checksums(creation)) return refused("its only filter must be Fletcher32");
    Column column;
    if (!read_shape(dataset, creation, type, column))
        return refused("its type or shape is not the one that prepare writes");
    if (!is_stored(file, dataset, column)) return refused("a part of it is not in the file");
    column.good_chunks.resize(chunks_of(column));
    column.dataset = std::move(dataset);
    return column;
}

bool holds(const Column& column, std::uint64_t first_row, std::uint64_t rows) {
    if (rows > column.rows || first_row > column.rows - rows) return false;
    if (rows == 0) return true;
    for (std::uint64_t chunk = first_row / column.chunk_rows;
         chunk <= (first_row + rows - 1) / column.chunk_rows; ++chunk) {
        if (column.good_chunks[chunk]) continue;
        if (!is_in_index(column, chunk) || is_all_zero(column, chunk)) return false;
        column.good_chunks[chunk] = true;
    }
    return true;
}

}  // namespace lockstep::data::hdf5

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_section.hpp"

namespace lockstep::data::hdf5 {

// The type and shape of a dataset that prepare writes.
struct ColumnType {
    hid_t type;           // of the elements in the file, such as H5T_STD_I32LE
    std::uint64_t width;  // 1: shape [rows]; otherwise [rows, width]
};

// Holds an open dataset that is exactly of the form that prepare writes. A file may come from
// anybody, and a damaged one may say anything; HDF5 would follow links to other files, load
// plug-ins for filters, and read zeros where a chunk is missing.
struct Column {
    Hdf5Dataset dataset;
    hid_t type = H5I_INVALID_HID;
    std::uint64_t rows = 0, width = 1, chunk_rows = 0;
    std::uint64_t stored_chunk_bytes = 0;   // with its checksum
    std::string problem;                    // why it cannot be used; empty: it can
    mutable std::vector<bool> good_chunks;  // chunks that holds() has looked at

    explicit operator bool() const noexcept { return static_cast<bool>(dataset); }
    std::uint64_t size() const noexcept { return rows * width; }  // number of elements
};

// Opens a dataset and checks, before anything is read: hard links only; type and shape; layout
// chunked with Fletcher32 as the only filter; every chunk is stored, and no more bytes than the
// file has. `name` may contain groups ("train/00000"). If something is different, the column has no
// dataset but a `problem`. Must be called inside a section.
Column open_column(const Hdf5File& file, const std::string& name, ColumnType type,
                   std::size_t cache_bytes);

// Returns true if all chunks of these rows are in the file, whole. Looks at each chunk once. The
// library's index of chunks has no checksum: a damaged one may lack chunks that it counts, which
// would be read as zeros, or lead to a place in the file that has only zeros, whose Fletcher32
// checksum is zero too. So a chunk that has only zeros is not held, unless it has only one element.
bool holds(const Column& column, std::uint64_t first_row, std::uint64_t rows);

}  // namespace lockstep::data::hdf5

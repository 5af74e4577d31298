// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/storage/hdf5_section.hpp"

// These functions read HDF5. A failure is an empty result, and the caller decides what it means.
// All calls must be made inside a section.
namespace lockstep::data::hdf5 {

// Returns an invalid handle if the file cannot be opened. Opens without file locking, which network
// file systems refuse.
Hdf5File open_file(const std::string& path);
// Throws an io error if the file is there and the system does not let it be opened: the library
// has then failed for a reason that says nothing about the file.
void require_openable(const std::string& path);
// Returns an invalid handle if there is no such dataset, or if it is not one-dimensional.
Hdf5Dataset open_dataset(const Hdf5File& file, const char* name, std::size_t cache_bytes);
// Opens a dataset of shape [rows, 2] in the same way.
Hdf5Dataset open_pairs(const Hdf5File& file, const char* name, std::size_t cache_bytes);
std::uint64_t size(const Hdf5Dataset& dataset);  // number of elements

std::optional<std::int64_t> read_integer(const Hdf5File& file, const char* attribute);
std::optional<std::string> read_text(const Hdf5File& file, const char* attribute);

enum class Outcome { done, failed };
// Reads elements from `first` on. T is int32, uint32, uint64 or uint8. Throws std::bad_alloc if it
// fails because of a lack of memory.
template <class T>
Outcome read(const Hdf5Dataset& dataset, std::uint64_t first, std::span<T> out);
// Reads whole rows of a dataset opened by open_pairs(), from `first_row` on, in the same way.
Outcome read_pairs(const Hdf5Dataset& dataset, std::uint64_t first_row,
                   std::span<std::int32_t> out);

}  // namespace lockstep::data::hdf5

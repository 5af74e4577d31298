// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/storage/hdf5_section.hpp"

// Reading, with failure as an empty result: what it means is the caller's to say. All calls are
// made inside a section.
namespace lockstep::data::hdf5 {

// Invalid when it cannot be opened. Without file locking, which network file systems refuse.
Hdf5File open_file(const std::string& path);
// Invalid when there is none, or it is not one-dimensional.
Hdf5Dataset open_dataset(const Hdf5File& file, const char* name, std::size_t cache_bytes);
// The same for [rows, 2].
Hdf5Dataset open_pairs(const Hdf5File& file, const char* name, std::size_t cache_bytes);
std::uint64_t size(const Hdf5Dataset& dataset);  // in elements

std::optional<std::int64_t> read_integer(const Hdf5File& file, const char* attribute);
std::optional<std::string> read_text(const Hdf5File& file, const char* attribute);

enum class Outcome { done, failed };
// Elements from `first` on; T is int32, uint32, uint64 or uint8. Throws std::bad_alloc where it was
// memory that lacked.
template <class T>
Outcome read(const Hdf5Dataset& dataset, std::uint64_t first, std::span<T> out);
// The same of what open_pairs() opened: whole rows from `first_row` on.
Outcome read_pairs(const Hdf5Dataset& dataset, std::uint64_t first_row,
                   std::span<std::int32_t> out);

}  // namespace lockstep::data::hdf5

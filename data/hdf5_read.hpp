// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/hdf5_section.hpp"

// Reading, with failure as an empty result: what it means is the caller's to say. All calls are
// made inside a section.
namespace lockstep::data::hdf5 {

// Invalid when it cannot be opened. Without file locking, which network file systems refuse.
Hdf5File open_file(const std::string& path);
// Invalid when there is none, or it is not one-dimensional.
Hdf5Dataset open_dataset(const Hdf5File& file, const char* name, std::size_t cache_bytes);
std::uint64_t size(const Hdf5Dataset& dataset);

std::optional<std::int64_t> read_integer(const Hdf5File& file, const char* attribute);
std::optional<std::string> read_text(const Hdf5File& file, const char* attribute);

enum class Outcome { done, failed };
// Elements from `first` on; T is int32, uint32, uint64 or uint8. Throws std::bad_alloc where it was
// memory that lacked.
template <class T>
Outcome read(const Hdf5Dataset& dataset, std::uint64_t first, std::span<T> out);

}  // namespace lockstep::data::hdf5

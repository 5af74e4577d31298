// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/hdf5/hdf5_column.hpp"
#include "data/hdf5/hdf5_section.hpp"

// These functions read HDF5. A failure is an empty result, and the caller decides what it means,
// after the section's require_memory(). All calls must be made inside a section.
namespace lockstep::data::hdf5 {

// Returns an invalid handle if the file cannot be opened. Opens without file locking, which network
// file systems refuse.
Hdf5File open_file(const std::string& path);
// Throws an io error if the library's `reason` is a failure of the system, or if the file is there
// and cannot be opened: this says nothing about the file.
void require_openable(const std::string& path, const std::string& reason);

// Returns nothing if there is no such attribute, or if it is not one integer or one text of at most
// 4 KiB. Nothing is read of an attribute of another size.
std::optional<std::int64_t> read_integer(const Hdf5File& file, const char* attribute);
std::optional<std::string> read_text(const Hdf5File& file, const char* attribute);

enum class Outcome {
    done,
    failed,  // the library says why
    absent   // a chunk is not in the file: the library would read it as zeros
};
// Reads elements from `first` on. T is int32, uint32, uint64 or uint8.
template <class T>
Outcome read(const Column& column, std::uint64_t first, std::span<T> out);
// Reads whole rows of a column with a width of more than 1, from `first_row` on, in the same way.
Outcome read_rows(const Column& column, std::uint64_t first_row, std::span<std::int32_t> out);
// Returns the reason of an outcome that is not done, for a message.
std::string reason_of(Outcome outcome, const Hdf5Section& section);

}  // namespace lockstep::data::hdf5

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::data {

// Tells whether a file begins as the pointer does that Git LFS leaves where it has not fetched the
// file.
bool is_lfs_pointer(std::string_view text) noexcept;

// Throws a data error if the file's text is such a pointer.
void refuse_lfs_pointer(const std::string& path, std::string_view text);

// Reads the beginning of the file and does the same. A file that cannot be read is none.
void refuse_lfs_pointer(const std::string& path);

}  // namespace lockstep::data

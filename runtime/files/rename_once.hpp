// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// Renames a file or folder, as rename() does, and returns 0 or the error number. A file server may
// do a rename and lose its answer; the repeated call then fails, although `to` is what `from` was.
// That is a success here.
int rename_once(const std::string& from, const std::string& to) noexcept;

}  // namespace lockstep

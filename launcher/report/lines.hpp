// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep::launcher::report {

// Longer ones are no line that a run has written, and are not kept in memory.
constexpr std::size_t longest_line_bytes = 1 << 16;

// Calls `action` with each line that has its end, in order; of one that is too long with none of
// it. Throws an io error that names the file.
void for_each_line(const std::string& path, const std::function<void(std::string_view)>& action);

}  // namespace lockstep::launcher::report

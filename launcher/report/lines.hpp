// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lockstep::launcher::report {

// No run writes longer lines, so they are not kept in memory.
constexpr std::size_t longest_line_bytes = 1 << 16;

// Calls `action` with each complete line, in order. A line that is too long is passed as an empty
// one. Throws an io error that names the file.
void for_each_line(const std::string& path, const std::function<void(std::string_view)>& action);

}  // namespace lockstep::launcher::report

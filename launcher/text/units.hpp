// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::launcher {

// Stands for a number of bytes or things without a limit.
constexpr std::int64_t unlimited = -1;

std::string bytes_text(std::int64_t bytes);  // "1.5 GiB"; "unlimited"
std::string count_text(std::int64_t count);  // "1024"; "unlimited"
std::string grouped(std::int64_t count);     // "1,024"
std::string rate_text(double bytes_per_s);   // "118 MB/s"
std::string seconds_text(double seconds);    // "0.21 ms", "3.5 s"
std::string digits(double value);            // three significant digits: "0.21", "118"
// Returns a count with its noun: "1 row", "1,024 rows".
std::string counted(std::int64_t count, const std::string& one, const std::string& more);
std::string joined(const std::vector<std::string>& words);  // "a, b"

}  // namespace lockstep::launcher

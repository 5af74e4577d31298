// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::launcher {

// Holds one `name = value` of a --config file. Underscores in the name have become dashes.
struct ConfigLine {
    std::size_t number;  // the first line is 1
    std::string name, value;
};

// Reads the text of a --config file. A line is empty, a comment (`# ...`) or `name = value`,
// optionally followed by a comment. A value in double quotes may hold anything and writes \" \\ \n
// \r \t for characters that a line cannot hold. Every character of a value in single quotes stands
// for itself. A value without quotes ends at ` #` or at the end of the line, and surrounding blanks
// are removed. A syntax error is a config error that begins with `path:number: `.
std::vector<ConfigLine> read_config_lines(const std::string& text, const std::string& path);

// Returns `name = value`. The value is quoted when a bare value would be read differently.
std::string config_line(const std::string& name, const std::string& value);

}  // namespace lockstep::launcher

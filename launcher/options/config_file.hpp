// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::launcher {

// One `name = value` of a --config file. Underscores of the name are dashes.
struct ConfigLine {
    std::size_t number;  // from 1
    std::string name, value;
};

// A line is empty, a comment (`# ...`) or `name = value`, with a comment behind it if it likes. A
// value in double quotes may hold anything, with \" \\ \n \r \t for what a line cannot; in single
// quotes every character stands for itself; without quotes it ends at ` #` or at the line's end,
// without the blanks around it. What is wrong is a config error that begins with `path:number: `.
std::vector<ConfigLine> read_config_lines(const std::string& text, const std::string& path);

// `name = value`, quoted where a bare value would be read as another one.
std::string config_line(const std::string& name, const std::string& value);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace lockstep::launcher {

// It gives the lines that a person, or a script in a person's place, types.
class LineReader {
public:
    virtual ~LineReader() = default;

    // False at the end of the input.
    virtual bool next(std::string& line) = 0;
};

// From standard input, with `prompt` before each line. On a terminal lines are edited with the
// arrow keys and earlier ones come back; elsewhere they are shown, so that the output reads like a
// talk.
std::unique_ptr<LineReader> make_line_reader(const std::string& prompt);

}  // namespace lockstep::launcher

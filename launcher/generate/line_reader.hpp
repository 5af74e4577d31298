// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace lockstep::launcher {

// Reads the lines that a person, or a script instead of a person, types.
class LineReader {
public:
    virtual ~LineReader() = default;

    // Returns false at the end of the input. Throws a data error for a line that is too long.
    virtual bool next(std::string& line) = 0;
};

// Reads standard input and writes `prompt` before each line. A terminal allows editing with the
// arrow keys and brings back earlier lines. Other input is echoed, so that the output reads like a
// conversation.
std::unique_ptr<LineReader> make_line_reader(const std::string& prompt);

}  // namespace lockstep::launcher

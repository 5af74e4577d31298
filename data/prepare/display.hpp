// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace lockstep::data {

struct DisplayOptions {
    std::string data;            // the directory
    std::string split;           // empty: its first, the training split where there is one
    std::int64_t examples = 10;  // rows shown
};

// ParlAI's display_data: the first rows of a split, in the order of the text, each with its context
// and its labels, decoded. Throws errors as inspect() does.
void display(const DisplayOptions& options, std::ostream& out);

}  // namespace lockstep::data

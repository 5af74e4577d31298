// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace lockstep::data {

struct DisplayOptions {
    std::string data;            // path of the data directory
    std::string split;           // empty: the first split
    std::int64_t examples = 10;  // rows shown
};

// Works as ParlAI's display_data: writes the first rows of a split in the order of the text, each
// with its decoded context and labels. Throws the same errors as inspect().
void display(const DisplayOptions& options, std::ostream& out);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "data/storage/dataset.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

struct DisplayOptions {
    std::string data;            // path of the data directory
    std::string split;           // empty: the first split
    std::int64_t examples = 10;  // rows shown
};

// Works as ParlAI's display_data: writes the first rows of a split in the order of the text, each
// with its decoded context and labels. Throws the same errors as inspect(). Writes delimiter_note()
// to `notes` if a row has an unknown word.
void display(const DisplayOptions& options, std::ostream& out, std::ostream& notes);

// Returns a line that says why __unk__ is shown between turns. It is empty if the dictionary has
// the delimiter of the data set.
std::string delimiter_note(const Dataset& dataset, const Tokenizer& tokenizer);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/tokenizers/tokenizer.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::launcher {

// Holds the text of a row for people. It is decoded from tokens when the data holds no text. This
// is always so for the context, and for the label in plain text and in the training split.
struct RowTexts {
    std::string context;
    std::vector<std::string> labels;  // all alternatives
};

// Requires a batch that was read with references and whole contexts.
RowTexts texts_of(const train::Batch& batch, std::size_t row, const data::Tokenizer& tokenizer);

}  // namespace lockstep::launcher

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/tokenizers/tokenizer.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::launcher {

// What people read of a row. Where the data holds no text, that of the tokens stands for it: the
// context's always, the label's in plain text and in the training split.
struct RowTexts {
    std::string context;
    std::vector<std::string> labels;  // all alternatives
};

// The batch must have been read with references and whole contexts.
RowTexts texts_of(const train::Batch& batch, std::size_t row, const data::Tokenizer& tokenizer);

}  // namespace lockstep::launcher

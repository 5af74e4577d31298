// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/prepare/prepare_options.hpp"
#include "data/splits/divided_text.hpp"
#include "data/text/turns.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

// Returns the tokenizer that the options request: reads it from --dict-file, or makes it in a pass
// over the part of the training files that `division` gives to training. Temporary files, and those
// of a new tokenizer in Hugging Face's form, go to `scratch`. Adds what is odd in the text to
// `warnings`.
std::unique_ptr<Tokenizer> build_tokenizer(const PrepareOptions& options,
                                           const TextDivision& division, int threads,
                                           const std::string& scratch, Warnings& warnings,
                                           Log& log);

}  // namespace lockstep::data

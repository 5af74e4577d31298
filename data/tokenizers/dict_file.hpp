// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/tokenizers/tokenizer_options.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

// What `wanted` means when its dict_file is a data set's or a model's folder, or a file in one:
// that folder's tokenizer.json then says which file, which kind of tokenizer and which letter case.
// Throws an error that names a folder without one.
TokenizerOptions with_kept_tokenizer(TokenizerOptions wanted, Log& log);

}  // namespace lockstep::data

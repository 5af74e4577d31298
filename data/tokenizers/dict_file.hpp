// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/tokenizers/tokenizer_options.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

// Completes `wanted` if its dict_file is the folder of a data set or a model, or a file in such a
// folder: the folder's tokenizer.json then determines the file, the kind of tokenizer and the
// letter case. Throws an error that names a folder without one.
TokenizerOptions with_kept_tokenizer(TokenizerOptions wanted, Log& log);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/prepare/prepare_options.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::data {

// Works as ParlAI's build_dict: makes only the dictionary (or SentencePiece model) of the training
// files and writes it to options.tokenizer.dict_file, complete or not at all. An existing file is
// an error of kind config that names it, unless Existing::overwrite is given.
void build_dict(const PrepareOptions& options, Log& log);

}  // namespace lockstep::data

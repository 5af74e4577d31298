// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/prepare/prepare_options.hpp"
#include "data/text/turns.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

// The tokenizer that the options ask for: read from --dict-file, or made in a pass over the
// training files. Run files go to `scratch`.
std::unique_ptr<Tokenizer> build_tokenizer(const PrepareOptions& options, int threads,
                                           const std::string& scratch, Warnings& warnings,
                                           Log& log);

}  // namespace lockstep::data

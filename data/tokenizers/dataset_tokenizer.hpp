// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "data/storage/dataset.hpp"
#include "data/tokenizers/tokenizer.hpp"

namespace lockstep::data {

// Opens the tokenizer in a data set's folder. Throws a data error unless it is the one that the
// shards were made with and has as many entries as dataset.json says.
std::unique_ptr<Tokenizer> tokenizer_of(const Dataset& dataset);

}  // namespace lockstep::data

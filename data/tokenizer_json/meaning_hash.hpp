// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/tokenizer_json/raw_file.hpp"

namespace lockstep::data {

// Returns a hash of what a tokenizer's file means: its pieces, merges and rules, whatever their
// order and form in the file.
std::uint64_t meaning_hash(const RawTokenizerFile& file);

}  // namespace lockstep::data

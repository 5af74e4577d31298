// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/tokenizer_json/raw_file.hpp"

namespace lockstep::data {

// Returns a hash of a tokenizer's file: of its pieces, merges and rules, whatever their order.
// Prepared data records it.
std::uint64_t content_hash(const RawTokenizerFile& file);

// Returns a hash of what the file means. It is the same for files in other forms that give the same
// ids, such as one that names a default value and one that leaves it out.
std::uint64_t meaning_hash(const RawTokenizerFile& file);

}  // namespace lockstep::data

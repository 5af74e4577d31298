// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "data/tokenizer_json/raw_file.hpp"

namespace lockstep::data {

// Returns what the rest of a file means, in one form for all files that mean the same: without
// members that have their default value or change no ids and no text.
nlohmann::json canonical_form(const RawTokenizerFile& file);

}  // namespace lockstep::data

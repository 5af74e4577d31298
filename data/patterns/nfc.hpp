// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::data {

// Returns the canonical composition (NFC) of valid UTF-8, with the tables of Unicode 9 that the
// normalizer of Hugging Face's `tokenizers` has: a mark that came later keeps its place.
std::string nfc(std::string_view text);

}  // namespace lockstep::data

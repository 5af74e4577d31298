// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/decoders/decoder.hpp"

namespace lockstep::data {

// Returns the bytes that a piece of a byte-level vocabulary stands for. A piece with other
// characters, such as an added token, stands for itself.
std::string bytes_of_piece(std::string_view piece);

// Pieces in GPT-2's alphabet become the bytes that they stand for.
DecoderPart make_byte_level_decoder(const JsonPart& part);

// Pieces <0xNN> become bytes.
DecoderPart make_byte_fallback_decoder(const JsonPart& part);

}  // namespace lockstep::data

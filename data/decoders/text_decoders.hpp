// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/decoders/decoder.hpp"

namespace lockstep::data {

// Joins all pieces.
DecoderPart make_fuse_decoder(const JsonPart& part);

// Takes a character away from the ends of each piece.
DecoderPart make_strip_decoder(const JsonPart& part);

// Replaces what a pattern finds in each piece.
DecoderPart make_replace_decoder(const JsonPart& part);

// Marks of spaces become spaces, but for the one that was put before a text.
DecoderPart make_metaspace_decoder(const JsonPart& part);

// BPEDecoder: the suffix of a word's last piece becomes a space.
DecoderPart make_suffix_decoder(const JsonPart& part);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/prepare/encoded_chunk.hpp"

namespace lockstep::data {

// Encodes conversations as the tokenizer's chat template writes them: each turn of the assistant
// becomes a row, unless its weight is 0; or, if the settings ask for it and the template keeps
// earlier turns as they were, all of them together. The context of a turn is the conversation up to
// the turn, its label what the assistant says with the token that ends the turn. A pair of texts,
// "prompt" and "completion", becomes a row without the template. Throws a data error with file and
// line.
void encode_talks(const TextChunk& chunk, const Tokenizer& tokenizer,
                  const EncodeSettings& settings, EncodedChunk& out);

}  // namespace lockstep::data

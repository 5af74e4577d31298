// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer_steps/json_part.hpp"

namespace lockstep::data {

// Turns the pieces of ids back into text. Several threads may call it at once.
class Decoder {
public:
    virtual ~Decoder() = default;

    // Changes pieces; the text is what they are when they are joined.
    virtual void decode(std::vector<std::string>& pieces) const = 0;
};

// Says how the text of a reply may be given out piece by piece.
enum class Streaming {
    bytes,          // pieces are bytes that only need to be joined
    byte_fallback,  // <0xNN> pieces at the end may still change
    at_the_end,     // the text of all pieces may change with the last one
};

struct DecoderPart {
    std::unique_ptr<Decoder> decoder;  // nullptr: pieces are joined by spaces
    Streaming streaming = Streaming::byte_fallback;
};

// Makes the decoder that a file describes. Throws a data error that names a type or a member that
// is not supported.
DecoderPart make_decoder(const JsonPart& part);

}  // namespace lockstep::data

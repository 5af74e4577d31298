// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer_json/pretrained_tokenizer.hpp"

namespace lockstep::data {

// Decodes a reply token by token. All that it returns, joined, is what decode() returns for all
// ids.
class StreamDecoder {
public:
    // The tokenizer must outlive the object.
    StreamDecoder(const PretrainedTokenizer& tokenizer, SkipSpecial skip)
        : tokenizer_(tokenizer), skip_(skip) {}

    // Returns the text that is certain now: a character whose last bytes have not come yet, and
    // pieces that the next token may change, are held back.
    std::string add(std::int32_t id);
    // Returns what was held back, at the end of the reply.
    std::string finish();

private:
    std::string text_beyond();

    const PretrainedTokenizer& tokenizer_;
    const SkipSpecial skip_;
    std::string bytes_;              // for Streaming::bytes: those that are held back
    std::vector<std::int32_t> ids_;  // otherwise all that came
    std::size_t given_ = 0;          // bytes of their text that were returned
};

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/written_words.hpp"

#include "data/tokenizer_json/pretrained_tokenizer.hpp"
#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "data/tokenizers/huggingface_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"

namespace lockstep::data {

void encode_delimiter(const Tokenizer& tokenizer, std::string_view text,
                      std::vector<std::int32_t>& out) {
    const auto* words = dynamic_cast<const DictionaryTokenizer*>(&tokenizer);
    words != nullptr ? words->encode_delimiter(text, out) : tokenizer.encode(text, out);
}

// SentencePiece splits such a word like any other.
void find_specials(const Tokenizer& tokenizer, std::string_view text, const FoundSpecial& found) {
    const auto* words = dynamic_cast<const DictionaryTokenizer*>(&tokenizer);
    if (words != nullptr) words->find_specials(text, found);
}

std::string decode_with_control(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
    const auto* pretrained = dynamic_cast<const HuggingfaceTokenizer*>(&tokenizer);
    return pretrained != nullptr ? pretrained->engine().decode(ids, SkipSpecial::no)
                                 : tokenizer.decode(ids);
}

bool normalizes(const Tokenizer& tokenizer) {
    const auto* pieces = dynamic_cast<const SentencePieceTokenizer*>(&tokenizer);
    return pieces != nullptr && pieces->normalizes();
}

}  // namespace lockstep::data

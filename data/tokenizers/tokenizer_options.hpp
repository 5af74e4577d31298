// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizers/dictionary.hpp"

namespace lockstep::data {

// huggingface: one that exists. characters and byte_level_bpe: a new one in Hugging Face's form.
enum class TokenizerKind { re, sentencepiece, huggingface, characters, byte_level_bpe };
enum class SentencePieceModel { unigram, bpe };

struct TokenizerOptions {
    TokenizerKind kind = TokenizerKind::re;
    DictionaryOptions dictionary;  // --dict-lower, --dict-minfreq, --dict-maxtokens
    SentencePieceModel sentencepiece_model = SentencePieceModel::unigram;
    std::int32_t vocab_size = 8000;           // SentencePiece and byte-level BPE
    std::int64_t sample_sentences = 200'000;  // SentencePiece trains on at most this many lines
    // Dictionary or SentencePiece model to reuse, or the folder of a tokenizer in Hugging Face's
    // form; empty: build one.
    std::string dict_file;
};

}  // namespace lockstep::data

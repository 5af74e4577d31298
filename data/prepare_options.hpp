// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dictionary.hpp"

namespace lockstep::data {

enum class TextFormat { parlai, fbdialog, jsonl, messages, text };
enum class TokenizerKind { re, sentencepiece };
enum class SentencePieceModel { unigram, bpe };
// Whose turns of a conversation become labels.
enum class LabelTurns { firstspeaker, secondspeaker, both };
enum class Existing { refuse, overwrite };
enum class Documents { file, blank_line };  // where a plain-text document ends

struct TokenizerOptions {
    TokenizerKind kind = TokenizerKind::re;
    DictionaryOptions dictionary;  // --dict-lower, --dict-minfreq, --dict-maxtokens
    SentencePieceModel sentencepiece_model = SentencePieceModel::unigram;
    std::int32_t vocab_size = 8000;           // SentencePiece only
    std::int64_t sample_sentences = 200'000;  // SentencePiece trains on at most so many lines
    std::string dict_file;  // reuse this dictionary or SentencePiece model; empty: build
};

struct ReadOptions {
    TextFormat format = TextFormat::parlai;
    LabelTurns label_turns = LabelTurns::secondspeaker;  // jsonl only
    std::int64_t history_size = -1;                      // utterances of context; negative: all
    std::string delimiter = "\n";                        // between the utterances of a context
    Documents documents = Documents::file;               // text only
};

struct PrepareOptions {
    ReadOptions read;
    TokenizerOptions tokenizer;
    // Files of each split, any of which may have none. Without training files a dict_file is
    // needed.
    std::vector<std::string> inputs, valid, test;
    std::string out;
    int shards = 1;                  // files of the training split
    std::int64_t block_size = 1024;  // text only: tokens of a row
    Existing existing = Existing::refuse;
    int threads = 0;         // 0: every core
    std::uint64_t seed = 1;  // chooses the training label among alternatives
};

}  // namespace lockstep::data

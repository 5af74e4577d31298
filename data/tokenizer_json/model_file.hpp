// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/tokenizer_json/raw_file.hpp"
#include "data/tokenizer_json/special_tokens.hpp"

namespace lockstep::data {

// Reads tokenizer.model, a BPE model of SentencePiece, with the additions of tokenizer_config.json
// and added_tokens.json, and returns the tokenizer.json that has the same pieces and ids. Where no
// class is named, `facts` get the model's own names of the tokens that begin and end a text. Throws
// a data error that names the file and what is wrong with it or not supported: unigram models and
// models that normalize.
RawTokenizerFile read_model_file(TokenizerFacts& facts);

}  // namespace lockstep::data

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/bpe/bpe_model.hpp"
#include "data/tokenizers/dictionary.hpp"

namespace lockstep::data {

struct BpeTrainingOptions {
    std::vector<std::string> special_tokens;  // get the first ids
    std::int32_t vocab_size = 0;              // with special tokens and the 256 bytes
    std::int64_t min_frequency = 0;           // of two pieces that are joined
};

// A byte-level vocabulary in GPT-2's alphabet, by its ids, and its merges.
struct TrainedBpe {
    std::vector<std::string> pieces;
    std::vector<MergePieces> merges;
};

// Joins the most frequent pair of neighbouring pieces, again and again, until the vocabulary is
// large enough. The words are bytes and are never joined. The result is that of BpeTrainer of
// Hugging Face's tokenizers with all bytes as its initial alphabet.
TrainedBpe train_bpe(const std::vector<TokenCount>& words, const BpeTrainingOptions& options);

}  // namespace lockstep::data

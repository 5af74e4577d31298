// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/train/metrics/normal_text.hpp"

namespace lockstep::train {

// A reply compared with its references as ParlAI's metrics do it: 0..1, the best over the
// references; 0 without any.
using References = std::span<const NormalText>;

// 1 where the reply is a reference.
double exact_match(const NormalText& reply, References references);

// Of the words, order ignored; each is the best over the references on its own.
struct WordOverlap {
    double precision = 0, recall = 0, f1 = 0;
};
WordOverlap word_overlap(const NormalText& reply, References references);

// n-grams that both have, each as often as in the one that has it less often.
double common_ngrams(const Tokens& a, const Tokens& b, int order);

// Sentence BLEU up to `order`-grams with equal weights, as nltk's sentence_bleu with
// SmoothingFunction(epsilon=1e-12).method1.
double sentence_bleu(const NormalText& reply, References references, int order);

// Different n-grams among all n-grams of the reply.
double intra_distinct(const NormalText& reply, int order);

// A number for each n-gram of the reply, of its words alone: different n-grams have different ones,
// but for a chance of one in 2^64.
std::vector<std::uint64_t> ngram_hashes(const NormalText& reply, int order);

}  // namespace lockstep::train

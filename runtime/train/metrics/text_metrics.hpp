// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/train/metrics/normal_text.hpp"

namespace lockstep::train {

// These are the references of a reply. The functions below compare a reply with them as ParlAI's
// metrics do and return 0..1: the best value over the references, 0 if there are none.
using References = std::span<const NormalText>;

// Returns 1 if the reply equals a reference, else 0.
double exact_match(const NormalText& reply, References references);

// Holds the overlap of the words, ignoring their order. Each value is the best over the references,
// independently of the others.
struct WordOverlap {
    double precision = 0, recall = 0, f1 = 0;
};
WordOverlap word_overlap(const NormalText& reply, References references);

// Counts the n-grams that both texts have, each as often as in the text that has fewer of it.
double common_ngrams(const Tokens& a, const Tokens& b, int order);

// Calculates the sentence BLEU up to `order`-grams with equal weights, as nltk's sentence_bleu with
// SmoothingFunction(epsilon=1e-12).method1.
double sentence_bleu(const NormalText& reply, References references, int order);

// Returns the number of different n-grams divided by the number of all n-grams of the reply.
double intra_distinct(const NormalText& reply, int order);

// Returns a hash of each n-gram of the reply; it depends only on the words. Two different n-grams
// have the same hash with a probability of 2^-64.
std::vector<std::uint64_t> ngram_hashes(const NormalText& reply, int order);

}  // namespace lockstep::train

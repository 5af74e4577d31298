// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/train/metrics/text_metrics.hpp"

namespace lockstep::train {

// Holds the recall of the reference's words, of its pairs of words and of the longest common
// subsequence, after Porter's stemming. Each is 0..1 and the best over the references,
// independently of the others.
struct Rouge {
    double rouge_1 = 0, rouge_2 = 0, rouge_l = 0;
};

// Calculates as py-rouge, which ParlAI uses, but without its table of irregular words ("went" as
// "go"). One thread at a time may use it.
class RougeScorer {
public:
    RougeScorer();
    ~RougeScorer();
    RougeScorer(RougeScorer&&) noexcept;
    RougeScorer& operator=(RougeScorer&&) noexcept;

    Rouge operator()(const NormalText& reply, References references) const;

private:
    class Stemmer;
    std::unique_ptr<Stemmer> stemmer_;
};

}  // namespace lockstep::train

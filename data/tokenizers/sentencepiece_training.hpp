// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer_options.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {

// A fair sample of a stream of sentences, of bounded size, the same for the same stream (reservoir
// sampling, Vitter's algorithm R).
class SentenceSample {
public:
    SentenceSample(std::int64_t sentences, std::uint64_t seed);

    void add(std::string_view sentence);
    const std::vector<std::string>& sentences() const noexcept { return kept_; }

private:
    std::size_t capacity_;
    std::uint64_t seen_ = 0;
    PhiloxStream random_;
    std::vector<std::string> kept_;
};

// The serialised model. Throws a config error when the sample does not support the vocabulary.
std::string train_sentencepiece(const SentenceSample& sample, const TokenizerOptions& options,
                                int threads);

}  // namespace lockstep::data

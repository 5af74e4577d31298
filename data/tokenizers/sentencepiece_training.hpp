// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer_options.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {

// Takes a uniform random sample of bounded size from a stream of sentences (reservoir sampling,
// Vitter's algorithm R). The same stream gives the same sample.
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

// Returns the serialised model. Throws a config error if the sample is too small for the
// vocabulary.
std::string train_sentencepiece(const SentenceSample& sample, const TokenizerOptions& options,
                                int threads);

}  // namespace lockstep::data

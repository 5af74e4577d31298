// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/ngram_blocking.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::model {

void block_ngrams(int n, std::span<const std::int32_t> tokens, std::span<const std::int32_t> seen,
                  std::span<float> log_probs) {
    const auto size = static_cast<std::size_t>(n);
    if (n < 1 || tokens.size() + 1 < size || seen.size() < size) return;
    const auto prefix = tokens.last(size - 1);
    for (std::size_t first = 0; first + size <= seen.size(); ++first) {
        const auto ngram = seen.subspan(first, size);
        if (std::equal(prefix.begin(), prefix.end(), ngram.begin())) {
            log_probs[ngram.back()] = -std::numeric_limits<float>::infinity();
        }
    }
}

}  // namespace lockstep::model

// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/repetition_penalty.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lockstep::model {

void penalise_repetition(double penalty, std::span<const std::int32_t> seen,
                         std::span<float> scores) {
    if (penalty == 1) return;
    std::vector<std::int32_t> tokens(seen.begin(), seen.end());
    std::ranges::sort(tokens);
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    // A score that leaves the range of floats would be taken for that of a token that cannot
    // follow.
    using Limits = std::numeric_limits<float>;
    constexpr float most = Limits::max();
    const auto factor = static_cast<float>(std::clamp<double>(penalty, Limits::min(), most));
    for (const std::int32_t token : tokens) {
        if (token < 0 || token >= std::ssize(scores)) continue;
        float& score = scores[token];
        if (!std::isfinite(score)) continue;
        score = std::clamp(score < 0 ? score * factor : score / factor, -most, most);
    }
}

}  // namespace lockstep::model

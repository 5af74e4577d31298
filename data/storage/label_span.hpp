// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::data {

// Tokens of a row that have labels: those that the model learns to say. Counted from the row's
// first token.
struct LabelSpan {
    std::int32_t begin = 0, end = 0;

    friend constexpr bool operator==(const LabelSpan&, const LabelSpan&) = default;
};

}  // namespace lockstep::data

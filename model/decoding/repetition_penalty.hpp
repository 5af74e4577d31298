// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::model {

// Divides the scores above 0 of the tokens in `seen` by the penalty, and multiplies the others by
// it, each once, however often its token is there (Keskar et al., "CTRL", 2019, as transformers'
// RepetitionPenaltyLogitsProcessor does it). A penalty of 1 changes nothing; it is above 0. Tokens
// beyond the scores have none.
void penalise_repetition(double penalty, std::span<const std::int32_t> seen,
                         std::span<float> scores);

}  // namespace lockstep::model

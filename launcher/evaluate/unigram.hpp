// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/batch/step_source.hpp"

namespace lockstep::launcher {

// Returns the perplexity of `test`'s labels under the label frequencies of `training`, with one
// added to every count. A model that knows the words and ignores the context reaches this value, so
// it is the baseline for a trained model. Both sources are read to their end.
double unigram_perplexity(train::EvalSource& training, train::EvalSource& test,
                          std::int64_t vocabulary);

}  // namespace lockstep::launcher

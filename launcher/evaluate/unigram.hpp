// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/batch/step_source.hpp"

namespace lockstep::launcher {

// Perplexity of `test`'s labels under the label frequencies of `training`, one added to every
// count: what a model reaches that knows the words and ignores the context. The floor that a
// trained model is held against. Both sources are read to their end.
double unigram_perplexity(train::EvalSource& training, train::EvalSource& test,
                          std::int64_t vocabulary);

}  // namespace lockstep::launcher

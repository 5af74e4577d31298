// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/batch/step_source.hpp"

namespace lockstep::launcher {

// Returns the perplexity of `test`'s labels under the label frequencies of `training`, with one
// added to every count. A model that knows the words and ignores the context reaches this value, so
// it is the baseline for a trained model. Both sources are read to their end; `on_batch` is called
// after each batch unless it is empty.
double unigram_perplexity(train::EvalSource& training, train::EvalSource& test,
                          std::int64_t vocabulary, const std::function<void()>& on_batch = {});

}  // namespace lockstep::launcher

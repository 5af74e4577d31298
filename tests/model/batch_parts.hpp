// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/train/batch.hpp"

namespace lockstep::tests {

// The batch that holds nothing but this row, under the same global id.
train::Batch one_row(const train::Batch& batch, std::size_t row);

// The same rows with `filler` tokens of filler after both sides (one more after the source's).
train::Batch with_filler(train::Batch batch, std::size_t filler);

train::BatchShape shape_of(const train::Batch& batch);

}  // namespace lockstep::tests

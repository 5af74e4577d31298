// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/batch/batch.hpp"

namespace lockstep::tests {

// The batch that holds nothing but this row, under the same global id.
train::Batch one_row(const train::Batch& batch, std::size_t row);

// The same rows with `filler` tokens of filler after both sides (one more after the source's).
train::Batch with_filler(train::Batch batch, std::size_t filler);

// The same tokens, with labels that follow from them.
train::Batch with_following_labels(train::Batch batch);

// Nothing to read for an encoder.
train::Batch without_source(train::Batch batch);

// All rows so many times, each time under other global ids.
train::Batch repeated(const train::Batch& batch, std::size_t times);

// Batches that between them lead to every way in which gradients are written: as it is, with
// filler, without a source where there is one, and with more labels than the loss takes at once.
std::vector<train::Batch> variants_of(const train::Batch& batch);

train::BatchShape shape_of(const train::Batch& batch);

}  // namespace lockstep::tests

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/batch/batch.hpp"

namespace lockstep::tests {

// Returns the batch that holds only this row, under the same global id.
train::Batch one_row(const train::Batch& batch, std::size_t row);

// Returns the same rows with `filler` tokens of filler after both sides (one more after the
// source's).
train::Batch with_filler(train::Batch batch, std::size_t filler);

// Returns the same tokens, with labels that follow from them.
train::Batch with_following_labels(train::Batch batch);

// Returns the batch without the input of an encoder.
train::Batch without_source(train::Batch batch);

// Returns all rows `times` times, each time under other global ids.
train::Batch repeated(const train::Batch& batch, std::size_t times);

// Returns batches that together reach every way in which gradients are written: the batch itself,
// with filler, without a source if it has one, and with more labels than the loss takes at once.
std::vector<train::Batch> variants_of(const train::Batch& batch);

train::BatchShape shape_of(const train::Batch& batch);

}  // namespace lockstep::tests

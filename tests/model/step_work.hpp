// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"

namespace lockstep::tests {

// A model whose steps are counted on the emulated device, where it has to be narrow. Launches
// follow from the layers and not from their width, but for what is joined where it is small: the
// sorting of ids, relu's derivative, attention's backward. The full seq2seq model's step is small
// in each of them, GPT-2's in none (docs/journal/cuda.md).
struct CountedModel {
    model::ModelConfig full, narrow;
    std::int32_t source = 0, target = 0;  // tokens of a row
};

// GPT-2 with 124M parameters; bench_train_step's seq2seq with 17.6M.
CountedModel gpt2_124m();
CountedModel seq2seq_17m();

// `rows` rows of these lengths, every target token with a label.
train::Batch batch_of_rows(std::int64_t rows, std::int32_t source, std::int32_t target);

// Returns the work that a step of one micro-batch gives a GPU of compute capability 9.0 when it has
// been seen often enough to be replayed: bf16, adamw with decay and clipping as in
// bench_train_step, as many buckets as the full model has. The result is taken as well.
tests::cuda_emulation::DeviceWork work_of_step(const CountedModel& counted, std::int64_t rows);

}  // namespace lockstep::tests

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/config.hpp"
#include "runtime/batch/batch.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"

namespace lockstep::tests {

// A model whose steps are counted on the emulated device, where it has to be narrow. The launches
// follow from the layers and not from their width, except in attention's backward over long rows,
// which computes as many heads at once as its memory holds.
struct CountedModel {
    model::ModelConfig full, narrow;
    std::int32_t source = 0, target = 0;  // tokens per row
};

// GPT-2 has 124M parameters, and the seq2seq model of bench_train_step has 17.6M.
CountedModel gpt2_124m();
CountedModel seq2seq_17m();

// Returns `rows` rows of these lengths. Every target token has a label.
train::Batch batch_of_rows(std::int64_t rows, std::int32_t source, std::int32_t target);

// Returns the work that a step of one micro-batch gives a GPU of compute capability 9.0 when the
// step has run often enough to be replayed. The step uses bf16, adamw with decay and clipping as in
// bench_train_step, and as many buckets as the full model has. The work includes taking the result.
tests::cuda_emulation::DeviceWork work_of_step(const CountedModel& counted, std::int64_t rows);

}  // namespace lockstep::tests

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::bench {

struct RowLengths {
    std::int32_t source = 0, target = 0;
};

// The rows of a file of `source target` lines, sorted by length, in batches of `batch` rows: the
// peer's, the longest first. Throws a data error naming file and line.
std::vector<std::vector<RowLengths>> batches_of_file(const std::string& path, std::int64_t batch);

// Rows of random tokens, every target token labelled, filled up to the shape class that the data
// loader would give them. `random` advances.
train::Batch random_batch(const std::vector<RowLengths>& rows, std::int64_t vocabulary,
                          PhiloxStream& random);

}  // namespace lockstep::bench

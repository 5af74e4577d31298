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

// Reads the rows of a file of `source target` lines, sorts them by length and returns batches of
// `batch` rows, the longest first, as the peer does. Throws a data error that names file and line.
std::vector<std::vector<RowLengths>> batches_of_file(const std::string& path, std::int64_t batch);

// Returns rows of random tokens in which every target token has a label, filled up to the shape
// class that the data loader would use. `random` advances.
train::Batch random_batch(const std::vector<RowLengths>& rows, std::int64_t vocabulary,
                          PhiloxStream& random);

}  // namespace lockstep::bench

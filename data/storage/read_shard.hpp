// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/storage/dataset.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::data {

struct ShardReading {
    std::int64_t rows = 0, rows_read = 0;
    std::uint64_t hash = 0;  // hash of the data read: equal copies give equal hashes
};

// Reads a shard's rows from the first on until the deadline, but at least some, and then compares
// the whole file with its hash in dataset.json as far as time remains. Damage of a row gives the
// same error that training would give.
ShardReading read_shard(const Dataset& dataset, const SplitInfo& split, std::size_t shard,
                        Clock::time_point deadline);

}  // namespace lockstep::data

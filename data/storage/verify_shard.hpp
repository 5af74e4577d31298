// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/storage/dataset.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::data {

enum class Verification {
    same,         // the file is what prepare wrote
    unknown,      // prepared by an older version, which recorded no hash
    out_of_time,  // the deadline came before the end of the file
};

// Reads the whole file of a shard and compares its hash with the one in dataset.json. Throws a data
// error that names the file if it is another, and an io error if it cannot be read.
Verification verify_shard(const Dataset& dataset, const ShardInfo& shard,
                          Clock::time_point deadline = Clock::time_point::max());

// Does so for index.h5, which only planning reads: `lockstep plan`, --recompute auto, and a run
// that reserves memory on a GPU. The latter two go on without it.
Verification verify_index(const Dataset& dataset);

}  // namespace lockstep::data

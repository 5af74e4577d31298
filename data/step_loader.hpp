// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/batching_options.hpp"
#include "data/coverage.hpp"
#include "data/dataset.hpp"
#include "runtime/train/step_source.hpp"

namespace lockstep::data {

struct StepLoaderOptions {
    BatchingOptions batching;
    std::string split = "train";
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    int rank = 0;
    int world = 1;
    // Threads that build batches ahead, besides one that plans and reads; 0: everything in next().
    // The steps are the same for any number.
    int num_workers = 0;
    // Micro-batches that a lane sorts and shuffles at a time; 0: by the size of a micro-batch.
    std::int64_t window_batches = 0;
};

// A StepSource that can prove what it gave: coverage() counts the rows of the current epoch,
// those before a seek included. Errors of its threads are thrown by next().
class StepLoader : public train::StepSource {
public:
    virtual Coverage coverage() const = 0;
    virtual std::int64_t truncated_rows() const = 0;  // of the current epoch, as coverage()
};

// Throws a config error where options are out of range or do not fit the data's kind.
// Shards that none of this rank's lanes reads are never opened.
std::unique_ptr<StepLoader> open_step_source(const Dataset& dataset,
                                             const StepLoaderOptions& options);

}  // namespace lockstep::data

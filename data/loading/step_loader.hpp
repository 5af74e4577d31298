// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/batching/coverage.hpp"
#include "data/batching/set_share.hpp"
#include "data/storage/dataset.hpp"
#include "runtime/batch/step_source.hpp"

namespace lockstep::data {

struct StepLoaderOptions {
    std::vector<double> weights;  // only with several data sets; see share_epoch()
    BatchingOptions batching;
    std::string split = "train";
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    int rank = 0;
    int world = 1;
    // This many threads build batches ahead, in addition to one that plans and reads; 0: next()
    // does everything. The steps are the same for any number.
    int num_workers = 0;
    // A lane sorts and shuffles this many micro-batches at a time; 0: chosen from the size of a
    // micro-batch.
    std::int64_t window_batches = 0;
};

// This StepSource can prove which rows it has given. next() throws the errors of its threads.
class StepLoader : public train::StepSource {
public:
    virtual std::vector<SetShare> sets() const = 0;
    // Returns the usage of the current epoch, including the steps before a seek.
    virtual const Usage& usage() const = 0;
};

// Opens a source of one data set, or of several of the same kind and dictionary. Throws a config
// error if options are out of range or do not fit the kind of data. With one data set, shards that
// no lane of this rank reads are never opened; with several, any rank may read any shard.
std::unique_ptr<StepLoader> open_step_source(std::span<const Dataset> datasets,
                                             const StepLoaderOptions& options);

}  // namespace lockstep::data

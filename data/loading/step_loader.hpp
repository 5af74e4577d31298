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
    std::vector<double> weights;  // of several data sets; see share_epoch()
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

// A StepSource that can prove what it gave. Errors of its threads are thrown by next().
class StepLoader : public train::StepSource {
public:
    virtual std::vector<SetShare> sets() const = 0;
    // In the current epoch, also before a seek.
    virtual const Usage& usage() const = 0;
};

// Of one data set, or of several of one kind and dictionary. Throws a config error where options
// are out of range or do not fit the data's kind. Of one, shards that none of this rank's lanes
// reads are never opened; of several, any rank may need any.
std::unique_ptr<StepLoader> open_step_source(std::span<const Dataset> datasets,
                                             const StepLoaderOptions& options);

}  // namespace lockstep::data

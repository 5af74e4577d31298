// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "launcher/rank/gpu_assignment.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::bench {

// bench_allreduce measures these ranks. Their buffers may be in any memory.
struct SummingRanks {
    int rank, size;
    // Leaves the sum over all ranks in `values`.
    std::function<void(std::vector<float>& values)> sum;
    // Returns the seconds of one sum of `count` elements, which all ranks begin together.
    std::function<double(std::size_t count)> timed_sum;
};

// `ranks` must outlive the result.
SummingRanks host_ranks(comm::Communicator& ranks);
// Gives each rank a GPU and sums with NCCL. `host` must outlive the result. Throws a config error
// if this build has no CUDA backend.
SummingRanks nccl_ranks(comm::Communicator& host, const comm::RankInfo& rank_info,
                        launcher::SharedGpu shared, int timeout_ms);

}  // namespace lockstep::bench

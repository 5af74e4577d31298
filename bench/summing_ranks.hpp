// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "launcher/rank/gpu_assignment.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"

namespace lockstep::bench {

// What bench_allreduce measures: ranks that sum, on whatever memory.
struct SummingRanks {
    int rank, size;
    // Leaves the sum over all ranks in `values`.
    std::function<void(std::vector<float>& values)> sum;
    // Seconds of one sum of so many elements, which all ranks begin together.
    std::function<double(std::size_t count)> timed_sum;
};

// References outlive the result.
SummingRanks host_ranks(comm::Communicator& ranks);
// On a GPU each, by NCCL. Throws a config error where this build has no CUDA backend.
SummingRanks nccl_ranks(comm::Communicator& host, const comm::RankInfo& place,
                        launcher::SharedGpu shared, int timeout_ms);

}  // namespace lockstep::bench
